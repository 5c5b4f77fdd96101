// Package stories tells what Surehand promises as stories over its real edges: the shipped binary, a real
// PostgreSQL, mosquitto under the shipped deploy/mosquitto.conf, and as devices the programs of others,
// mosquitto_pub and mosquitto_sub, and npm programs. It has tests only.
//
// It owns one test for each sentence of the promise: what a device hears, what a person reads over HTTP, what a
// kill leaves. It knows the product by wire, HTTP and exit code alone, so that a change of the contract fails
// here even when both sides of it were changed alike.
//
// It must never import the product's packages, wait for a span of time, or say how fast something is: it waits
// for messages and states, each with a deadline. The one thing said about time is "not before the backoff".
//
// That something did not happen is shown by what comes next on the same topic, which the broker keeps in order.
package stories
