package looptest

import (
	"math/rand/v2"
	"time"
)

func simulate(m map[int]int) {
	source := rand.New(rand.NewPCG(1, 2))
	_ = source.IntN(3)
	_ = rand.IntN(3) // want `rand\.IntN draws from the shared source`
	_ = time.Now()
	for range m {
	}
}
