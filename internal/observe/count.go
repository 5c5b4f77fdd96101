package observe

import "surehand/internal/plant"

// Count counts what workers tell outside a turn: inputs dropped, publishes by result. Any goroutine may call it.
func (m *Metrics) Count(name, label string) { m.count(plant.Count{Name: name, Label: label}) }
