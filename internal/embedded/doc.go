// Package embedded brings to a developer's machine what a production site
// brings itself: a PostgreSQL server and a mosquitto broker. For tests of the
// page it also finds, or as root installs, a Chromium.
//
// It owns three things: finding the server programs or fetching them with the
// system's package client, running them privately (unix socket or loopback
// only), and stopping them again. Every server it starts ends with the process
// that started it, also when that process is killed.
//
// It must never be part of the product: cmd/surehand does not import it, and
// internal/house holds that with a test. It must never touch a database
// cluster, a broker or a process that it did not start itself; a folder is
// taken as its own only by the marker file written when it was made. It knows
// nothing of the rest of Surehand, so that tests of every package can use it.
package embedded
