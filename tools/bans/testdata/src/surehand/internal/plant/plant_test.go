package plant

import (
	"fmt"
	"sync"
	"time"
)

// Tests may look at the clock, use goroutines and range over tables, but not sleep.
func story(table map[string]int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for name := range table {
		wg.Go(func() { mu.Lock(); defer mu.Unlock(); _ = name })
	}
	_ = time.Now()
	time.Sleep(1) // want `time\.Sleep in a test`
	<-time.After(1)
	fmt.Println("x") // want `fmt\.Println writes to the terminal`
}

func Example() {
	fmt.Println("the output is the test")
	// Output: the output is the test
}
