// Package service joins the parts into one running Surehand: store, loop, crew, broker driver, API. It is a
// value that the product, the demo and tests start alike, so that what is tested is what runs.
//
// The order of start is part of the promise: the database confirms this process life before any connection
// to a broker is opened, and the broker driver asks it again before every reconnect. The order of the end is
// the reverse: the loop first, so that nothing new is handed out, then the workers, then the streams.
//
// It decides nothing and stores nothing.
package service
