package plant_test

import "time"

func outside() {
	_ = time.Now()
	time.Sleep(1) // want `time\.Sleep in a test`
}
