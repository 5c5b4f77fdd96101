package plant

import "time"

// Every queue, list and body has a bound; "full" is a named answer.
const (
	MaxBatch           = 512             // messages in one turn
	MaxQueue           = 16              // waiting commands an endpoint
	MaxBoots           = 8               // earlier boot ids remembered of a device
	MaxMarkHashes      = 16              // readings told apart at one sample time
	MaxEventsPerTurn   = 2048            // events evaluated in one turn; the rest commit pending
	MaxFencesPerSweep  = 128             // waiting commands looked at by one sweep
	MaxAttemptsLimit   = 10              // largest maxAttempts of a profile
	MaxConditionDepth  = 8               // levels of a condition
	MaxConditionLeaves = 64              // comparisons of a condition
	MaxReceiptBytes    = 4096            // payload bytes kept of a receipt
	MaxRejectsAMinute  = 120             // rejected inputs kept as receipts in a minute; the rest is only counted
	MaxPublishesOpen   = 256             // worker slots for publishes
	FutureTolerance    = time.Minute     // a sample further in the future is ordered by receipt
	SendBefore         = 2 * time.Second // an action is not started later than this after its commit
	DeliveryKeyLife    = 24 * time.Hour  // a broker keeps an unacknowledged delivery of a session no longer
	MaxParts           = 10000           // parts of an order
	MaxPlaces          = 64              // places of the dock or the buffer
	MaxSlots           = 16              // slots of a machine
	MaxEquipment       = 32              // machines, tools and the robot
	MaxSteps           = 32              // steps of a route
	MaxOpenOrders      = 64              // orders that have not ended
	MaxOpenAlarms      = 500             // alarms that are not normal; above, the one that is over for longest is acknowledged
	MaxCandidates      = 64              // moves kept with a plan
	MaxResults         = 64              // step results kept of a part
	MaxReworks         = 9               // largest limit of reworks of a step
	SteadyFor          = time.Second     // how long machines must say the same before it counts in a recovery
	OutageGrace        = 5 * time.Second // at least this much of a window is left after an outage or a restart
)
