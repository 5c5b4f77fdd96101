package automation

import (
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// truth is three-valued: a leaf whose endpoint has no value yet is unknown, and unknown is never true.
type truth int

const (
	no truth = iota
	unknown
	yes
)

func (t truth) String() string { return [...]string{"false", "unknown", "true"}[t] }

// evaluator walks a condition over the picture; every leaf is evaluated and kept, also where the result is
// already clear, because a person wants to see each value.
type evaluator struct {
	state *plant.State
	now   time.Time
	farm  term.FarmID
	// trigger and its value as of the event that is evaluated: a newer reading may have come since.
	trigger term.EndpointID
	value   term.Value
	at      time.Time
	leaves  []term.Leaf
}

func (v *evaluator) eval(c term.Condition) truth {
	switch {
	case len(c.All) > 0:
		result := yes
		for _, sub := range c.All {
			result = min(result, v.eval(sub))
		}
		return result
	case len(c.Any) > 0:
		result := no
		for _, sub := range c.Any {
			result = max(result, v.eval(sub))
		}
		return result
	case c.Not != nil:
		return yes - v.eval(*c.Not)
	}
	return v.leaf(c)
}

func (v *evaluator) leaf(c term.Condition) truth {
	leaf := term.Leaf{Endpoint: c.Endpoint, Op: c.Op, Operands: operands(c)}
	result := unknown
	if c.Endpoint == v.trigger {
		leaf.Actual, leaf.AgeMS = v.value, v.now.Sub(v.at).Milliseconds()
	} else if e, ok := v.state.Endpoint(c.Endpoint); ok && !e.Value.IsZero() && v.sees(e) {
		leaf.Actual, leaf.AgeMS = e.Value, v.now.Sub(e.SampledAt).Milliseconds()
	}
	if !leaf.Actual.IsZero() {
		result = no
		if Compare(c.Op, leaf.Actual, leaf.Operands) {
			result = yes
		}
	}
	leaf.Result = result.String()
	v.leaves = append(v.leaves, leaf)
	return result
}

// sees: a rule sees only devices of its farm, also after one has moved away.
func (v *evaluator) sees(e *plant.Endpoint) bool {
	d, ok := v.state.Device(e.DeviceID)
	return ok && d.FarmID == v.farm
}

func operands(c term.Condition) []term.Value {
	if c.Op == term.OpBetween || c.Op == term.OpIn {
		return c.Values
	}
	return []term.Value{c.Value}
}

// Compare applies an operator. Values that cannot be compared do not meet it; such a rule is refused when it
// is saved.
func Compare(op term.Operator, actual term.Value, operands []term.Value) bool {
	if len(operands) == 0 {
		return false
	}
	cmp, comparable := actual.Compare(operands[0])
	switch op {
	case term.OpEq:
		return comparable && cmp == 0
	case term.OpNe:
		return comparable && cmp != 0
	case term.OpGt:
		return comparable && cmp > 0
	case term.OpGe:
		return comparable && cmp >= 0
	case term.OpLt:
		return comparable && cmp < 0
	case term.OpLe:
		return comparable && cmp <= 0
	case term.OpBetween:
		if len(operands) != 2 {
			return false
		}
		high, ok := actual.Compare(operands[1])
		return comparable && ok && cmp >= 0 && high <= 0
	case term.OpIn:
		for _, o := range operands {
			if c, ok := actual.Compare(o); ok && c == 0 {
				return true
			}
		}
	}
	return false
}
