// Package modbus carries the two blocks of the handshake over Modbus TCP, as holding registers of one unit.
//
// It owns the client library (client.go, nothing else imports it) and which of its errors have lost the connection.
//
// It must never repeat a request, nor dial again by itself: what a lost answer means is for handshake to find out.
package modbus
