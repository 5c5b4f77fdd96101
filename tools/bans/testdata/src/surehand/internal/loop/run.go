package loop

import (
	"sync"
	"time"
)

func run(in chan int, m map[int]int) {
	go decide(in, m, func() {})
	select {
	case <-in:
	default:
	}
	in <- 1
	for range in {
	}
	close(make(chan int))
	_ = time.Now()    // want `time\.Now: time is an argument here`
	var mu sync.Mutex // want `sync\.Mutex`
	_ = &mu
	for range m { // want `ranging over a map`
	}
}
