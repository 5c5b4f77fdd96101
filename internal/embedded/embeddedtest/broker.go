package embeddedtest

import (
	"context"
	"os"
	"testing"

	"surehand/internal/embedded"
)

// Broker gives a mosquitto for this test, or the broker of TEST_MQTT_URL when
// that is set. That one is shared with others and refuses Kill and Restart: a
// test that needs those calls OwnBroker.
func Broker(t testing.TB) *embedded.Mosquitto {
	t.Helper()
	given := os.Getenv("TEST_MQTT_URL")
	if given == "" {
		return startBroker(t)
	}
	broker, err := embedded.OutsideMosquitto(given)
	if err != nil {
		t.Fatalf("TEST_MQTT_URL: %v", err)
	}
	return broker
}

// OwnBroker gives a mosquitto that this test may kill, restart and empty.
func OwnBroker(t testing.TB) *embedded.Mosquitto {
	t.Helper()
	if os.Getenv("TEST_MQTT_URL") != "" {
		t.Log("TEST_MQTT_URL is set, but this test stops its broker and therefore starts a mosquitto of its own")
	}
	return startBroker(t)
}

func startBroker(t testing.TB) *embedded.Mosquitto {
	t.Helper()
	dir := ownFolder(t, "broker-")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	broker, err := embedded.StartMosquitto(ctx, embedded.MosquittoOptions{Dir: dir, Log: logger()})
	if err != nil {
		t.Fatalf("start a mosquitto for this test: %v", err)
	}
	t.Cleanup(func() {
		if err := broker.Stop(context.Background()); err != nil {
			t.Errorf("stop this test's mosquitto: %v", err)
		}
	})
	return broker
}

// Folder gives an empty folder that servers started by this test can use, also
// when root starts them as another user; t.TempDir is closed to those.
func Folder(t testing.TB) string {
	t.Helper()
	return ownFolder(t, "folder-")
}

func ownFolder(t testing.TB, prefix string) string {
	t.Helper()
	work, err := workFolder()
	if err != nil {
		t.Fatalf("folder for test servers: %v", err)
	}
	dir, err := os.MkdirTemp(work.folder, prefix)
	if err != nil {
		t.Fatalf("folder for test servers: %v", err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove a test server's folder: %v", err)
		}
	})
	return dir
}
