package plant

import (
	crand "crypto/rand"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"sync"
	"time"
	later "time"
)

type index map[string]int

func clock(t time.Time, d time.Duration) bool {
	_ = time.Now()               // want `time\.Now: time is an argument here`
	_ = time.Since(t)            // want `time\.Since`
	_ = time.Until(t)            // want `time\.Until`
	_ = time.After(d)            // want `time\.After`
	_ = time.NewTimer(d)         // want `time\.NewTimer`
	_ = time.NewTicker(d)        // want `time\.NewTicker`
	_ = time.Tick(d)             // want `time\.Tick`
	time.AfterFunc(d, func() {}) // want `time\.AfterFunc`
	later.Sleep(d)               // want `time\.Sleep`
	read := time.Now             // want `time\.Now`
	_ = read
	return t.After(t.Add(d)) || t.Before(time.Unix(0, 0)) // methods, and values made of numbers
}

func randomness(given *struct{ Next func() int }) int {
	_ = rand.Int()                  // want `rand\.Int: randomness is an argument here`
	_ = rand.New(rand.NewSource(1)) // want `rand\.New:` `rand\.NewSource:`
	_, _ = crand.Read(nil)          // want `rand\.Read: randomness is an argument here`
	return given.Next()
}

func order[M ~map[string]int, S ~[]int](m map[string]int, named index, general M, list S) (sum int) {
	for range m { // want `ranging over a map gives another order`
	}
	for _, v := range named { // want `ranging over a map`
		sum += v
	}
	for _, v := range general { // want `ranging over a map`
		sum += v
	}
	for k := range maps.Keys(m) { // want `ranging over an iterator of package maps`
		sum += len(k)
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		sum += m[k]
	}
	for _, v := range list {
		sum += v
	}
	for i := range 3 {
		sum += i
	}
	return sum
}

type guarded struct {
	mu    sync.Mutex // want `sync\.Mutex: one goroutine owns this state`
	reply chan<- int // naming a channel's type is no talk
}

func talk(ch chan int) {
	go clock(time.Time{}, 0) // want `a go statement: a decider is a function of its arguments`
	ch <- 1                  // want `a channel send`
	<-ch                     // want `a channel receive`
	for range ch {           // want `ranging over a channel`
	}
	select {}          // want `a select`
	_ = make(chan int) // want `making a channel`
	close(ch)          // want `closing a channel`
	_ = make([]int, 1)
	defer clock(time.Time{}, 0)
}

func words(n int) string {
	fmt.Println(n) // want `fmt\.Println writes to the terminal`
	println(n)     // want `println writes to the terminal`
	return fmt.Sprint(n)
}
