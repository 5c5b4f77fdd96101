package workers

import (
	crand "crypto/rand"
	"fmt"
	"io"
	"math/rand"
	"sync"
	"time"
)

type pool struct {
	mu     sync.Mutex
	source *rand.Rand
}

func (p *pool) work(w io.Writer, m map[int]int) {
	go time.Sleep(1)
	_ = time.Now()
	for range m {
	}
	_, _ = crand.Read(nil)
	_ = p.source.Intn(3)
	_ = rand.Intn(3)     // want `rand\.Intn draws from the shared source`
	rand.Shuffle(0, nil) // want `rand\.Shuffle draws`
	fmt.Printf("%d", 1)  // want `fmt\.Printf writes to the terminal`
	fmt.Fprintf(w, "%d", 1)
	_ = fmt.Errorf("%d", 1)
}
