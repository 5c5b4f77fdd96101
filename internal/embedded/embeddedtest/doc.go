// Package embeddedtest gives tests a real PostgreSQL database and a real MQTT
// broker, on a machine with nothing but Go, git and make as well as in CI.
//
// It owns one throwaway cluster per test process, a fresh database per test,
// one mosquitto per test, and their removal: servers end with the test process
// even when it is killed, and a small janitor process then deletes their
// folder. Set TEST_DATABASE_URL or TEST_MQTT_URL to use servers of your own.
//
// It must never read SUREHAND_DATABASE_URL, so that no test can reach a
// database that matters, and it never skips: without a server a test fails and
// says what to install. Call it outside a synctest bubble, because what it
// starts lives longer than the bubble.
package embeddedtest
