package loop

func inbox(in chan int) int { return <-in }
