package workers

import (
	"context"
	"errors"

	"surehand/internal/plant"
)

// Hands carries out everything that the loop starts: it is loop.Hands.
type Hands struct {
	Crew *Crew // what goes to devices
	Line *Line // what goes to the cell
}

// Start hands an action to those who do it, and returns at once.
func (h Hands) Start(a plant.Action) {
	switch a.(type) {
	case plant.Perform, plant.Acknowledge, plant.Watch:
		h.Line.Start(a)
	default:
		h.Crew.Start(a)
	}
}

// Close ends both within the context.
func (h Hands) Close(ctx context.Context) error {
	crew := make(chan error, 1)
	go func() { crew <- h.Crew.Close(ctx) }()
	err := h.Line.Close(ctx)
	return errors.Join(err, <-crew)
}
