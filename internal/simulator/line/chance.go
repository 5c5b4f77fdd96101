package line

import (
	"hash/fnv"
	"math/rand/v2"
)

// chance decides when the faults of one endpoint strike. Each fault has a stream of its own that is drawn from at every
// chance the fault has, even at rate 0: switching one on never shifts the choices of another.
type chance struct {
	w       *World
	name    string
	streams map[string]*rand.Rand
	left    int // strikes still allowed; below 0: any number
}

func newChance(w *World, name string) *chance {
	return &chance{w: w, name: name, streams: map[string]*rand.Rand{}, left: -1}
}

// limit allows that many strikes from now on; 0: any number.
func (c *chance) limit(strikes int) {
	c.left = strikes
	if strikes == 0 {
		c.left = -1
	}
}

func (c *chance) strikes(fault string, rate float64) bool {
	r := c.streams[fault]
	if r == nil {
		h := fnv.New64a()
		h.Write([]byte(c.name + "/" + fault))
		r = rand.New(rand.NewPCG(c.w.o.Seed, h.Sum64()))
		c.streams[fault] = r
	}
	if r.Float64() >= rate || c.left == 0 {
		return false
	}
	if c.left > 0 {
		c.left--
	}
	c.w.truth.Faults[c.name+"/"+fault]++
	c.w.touch()
	return true
}
