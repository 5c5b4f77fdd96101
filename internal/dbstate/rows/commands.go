package rows

import (
	"surehand/ent"
	"surehand/internal/plant"
	"surehand/internal/term"
)

func SetIntent(m *ent.AutomationCommandIntentMutation, r *plant.Intent) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetExecutionID(r.ExecutionID)
	put(r.RuleID, m.SetRuleID, m.ClearRuleID)
	m.SetRuleRevision(r.RuleRevision)
	put(r.EventID, m.SetEventID, m.ClearEventID)
	put(r.Actor, m.SetActor, m.ClearActor)
	m.SetFarmID(r.FarmID)
	m.SetDeviceID(r.DeviceID)
	m.SetEndpointID(r.EndpointID)
	m.SetSerial(r.Serial)
	m.SetMethod(r.Method)
	m.SetParams(r.Params)
	m.SetTargetValue(r.TargetValue.String())
	m.SetAction(r.Action)
	m.SetIdempotencyKey(r.IdempotencyKey)
	m.SetFingerprint(r.Fingerprint)
	m.SetState(r.State)
	put(r.WaitingFor, m.SetWaitingFor, m.ClearWaitingFor)
	m.SetAttemptCount(r.AttemptCount)
	m.SetAttemptNumber(r.AttemptNumber)
	m.SetMaxAttempts(r.MaxAttempts)
	putTime(r.NextAttemptAt, m.SetNextAttemptAt, m.ClearNextAttemptAt)
	putTime(r.DueAt, m.SetDueAt, m.ClearDueAt)
	m.SetDeadlineAt(plant.Micros(r.DeadlineAt))
	put(r.LastError, m.SetLastError, m.ClearLastError)
	put(r.MQTTRequestID, m.SetMqttRequestID, m.ClearMqttRequestID)
	put(r.CommandID, m.SetCommandID, m.ClearCommandID)
	put(r.BootID, m.SetBootID, m.ClearBootID)
	m.SetHoldsEndpoint(r.HoldsEndpoint)
	putTime(r.LapseAt, m.SetLapseAt, m.ClearLapseAt)
	m.SetPossiblyExecuted(r.PossiblyExecuted)
	putTime(r.FencedAt, m.SetFencedAt, m.ClearFencedAt)
	putTime(r.AckedAt, m.SetAckedAt, m.ClearAckedAt)
	m.SetAckMark(term.JSON(r.AckMark))
	m.SetWeakSamples(r.WeakSamples)
	put(r.EvidenceID, m.SetEvidenceID, m.ClearEvidenceID)
	m.SetCreatedAt(plant.Micros(r.CreatedAt))
	m.SetUpdatedAt(plant.Micros(r.UpdatedAt))
	putTime(r.EndedAt, m.SetEndedAt, m.ClearEndedAt)
	putTime(r.ClosedAt, m.SetClosedAt, m.ClearClosedAt)
	m.SetIsOpen(r.Open())
}

func Intent(e *ent.AutomationCommandIntent) (*plant.Intent, error) {
	p := &parser{kind: plant.KindIntent, key: string(e.ID)}
	return &plant.Intent{
		ID: e.ID, Version: e.Version, ExecutionID: e.ExecutionID, RuleID: get(e.RuleID), RuleRevision: e.RuleRevision,
		EventID: get(e.EventID), Actor: get(e.Actor), FarmID: e.FarmID, DeviceID: e.DeviceID, EndpointID: e.EndpointID,
		Serial: e.Serial, Method: e.Method, Params: e.Params, TargetValue: p.value("target_value", e.TargetValue),
		Action: e.Action, IdempotencyKey: e.IdempotencyKey, Fingerprint: e.Fingerprint, State: e.State,
		WaitingFor: get(e.WaitingFor), AttemptCount: e.AttemptCount, AttemptNumber: e.AttemptNumber, MaxAttempts: e.MaxAttempts,
		NextAttemptAt: getTime(e.NextAttemptAt), DueAt: getTime(e.DueAt), DeadlineAt: plant.Micros(e.DeadlineAt),
		LastError: get(e.LastError), MQTTRequestID: get(e.MqttRequestID), CommandID: get(e.CommandID), BootID: get(e.BootID),
		HoldsEndpoint: e.HoldsEndpoint, LapseAt: getTime(e.LapseAt), PossiblyExecuted: e.PossiblyExecuted,
		FencedAt: getTime(e.FencedAt), AckedAt: getTime(e.AckedAt), AckMark: document[term.Mark](p, "ack_mark", e.AckMark),
		WeakSamples: e.WeakSamples, EvidenceID: get(e.EvidenceID), CreatedAt: plant.Micros(e.CreatedAt),
		UpdatedAt: plant.Micros(e.UpdatedAt), EndedAt: getTime(e.EndedAt), ClosedAt: getTime(e.ClosedAt),
	}, p.err
}

func SetAttempt(m *ent.CommandAttemptMutation, r *plant.Attempt) {
	m.SetID(r.ID)
	m.SetVersion(r.Version)
	m.SetIntentID(r.IntentID)
	m.SetCommandID(r.CommandID)
	m.SetNumber(r.Number)
	m.SetEpoch(r.Epoch)
	m.SetFencedAt(plant.Micros(r.FencedAt))
	m.SetDeadlineAt(plant.Micros(r.DeadlineAt))
	m.SetTopic(r.Topic)
	m.SetQos(r.QoS)
	m.SetPayload(r.Payload)
	m.SetHash(r.Hash)
	m.SetOutcome(r.Outcome)
	put(r.Error, m.SetError, m.ClearError)
	putTime(r.EndedAt, m.SetEndedAt, m.ClearEndedAt)
	m.SetIsOpen(r.Open())
}

func Attempt(e *ent.CommandAttempt) (*plant.Attempt, error) {
	return &plant.Attempt{
		ID: e.ID, Version: e.Version, IntentID: e.IntentID, CommandID: e.CommandID, Number: e.Number, Epoch: e.Epoch,
		FencedAt: plant.Micros(e.FencedAt), DeadlineAt: plant.Micros(e.DeadlineAt), Topic: e.Topic, QoS: e.Qos,
		Payload: e.Payload, Hash: e.Hash, Outcome: e.Outcome, Error: get(e.Error), EndedAt: getTime(e.EndedAt),
	}, nil
}

func SetReceipt(m *ent.DeviceCommandReceiptMutation, r *plant.Receipt) {
	m.SetID(r.ID)
	put(r.IntentID, m.SetIntentID, m.ClearIntentID)
	put(r.DeviceID, m.SetDeviceID, m.ClearDeviceID)
	put(r.Serial, m.SetSerial, m.ClearSerial)
	m.SetType(r.Type)
	m.SetCorrelation(r.Correlation)
	put(r.CorrelationKey, m.SetCorrelationKey, m.ClearCorrelationKey)
	put(r.Reason, m.SetReason, m.ClearReason)
	if r.Payload != nil {
		m.SetPayload(r.Payload)
	}
	m.SetReceivedAt(plant.Micros(r.ReceivedAt))
}

func Receipt(e *ent.DeviceCommandReceipt) (*plant.Receipt, error) {
	return &plant.Receipt{
		ID: e.ID, IntentID: get(e.IntentID), DeviceID: get(e.DeviceID), Serial: get(e.Serial), Type: e.Type,
		Correlation: e.Correlation, CorrelationKey: get(e.CorrelationKey), Reason: get(e.Reason), Payload: e.Payload,
		ReceivedAt: plant.Micros(e.ReceivedAt),
	}, nil
}
