// Package workertest says what every driver must do, as tests that a driver runs against its real wire with the far side
// in the test's hands: Publishers for those that publish, Drivers for those that work the cell.
//
// It also has what such tests need: Mock, a piece of equipment in memory that is its own driver and passes the same
// tests, Proxy, which stands between a Modbus client and server and loses, doubles or delays single answers, and Pipe,
// which only cuts, whatever is spoken.
//
// It must never measure time: a slow machine makes these tests slow, not red.
package workertest
