package loop

import "time"

func decide(in chan int, m map[int]int, start func()) {
	go start()     // want `a go statement: the loop meets other goroutines only in run\.go and inbox\.go`
	<-in           // want `a channel receive: the loop meets`
	_ = time.Now() // want `time\.Now`
	for range m {  // want `ranging over a map`
	}
	start()
}
