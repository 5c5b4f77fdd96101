package house

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// otherStores are names of what would be a second truth, or a second way for messages, beside PostgreSQL and MQTT.
var otherStores = []string{"redis", "valkey", "memcache", "nats-io", "kafka", "rabbitmq", "amqp", "pulsar", "nsq", "zookeeper", "etcd", "consul",
	"sqlite", "mysql", "mongo", "bbolt", "badger", "leveldb", "pebble"}

// proves K-2, C-23: the product links no client of any store, queue or lock service but PostgreSQL and MQTT.
func TestPostgresIsTheOnlyStore(t *testing.T) {
	packages := listPackages(t)
	at := slices.IndexFunc(packages, func(p goPackage) bool { return p.ImportPath == module+"/cmd/surehand" })
	require.GreaterOrEqual(t, at, 0)
	linked := packages[at].Deps
	require.True(t, slices.ContainsFunc(linked, func(p string) bool { return strings.HasPrefix(p, "github.com/jackc/pgx/") }), "pgx is what a store's client looks like here")
	for _, p := range linked {
		for _, name := range otherStores {
			// ent's own dialects name databases that no driver of is linked.
			if strings.Contains(p, name) && !strings.HasPrefix(p, "entgo.io/ent/") && !strings.HasPrefix(p, "ariga.io/atlas/") {
				t.Errorf("cmd/surehand links %s", p)
			}
		}
	}
}
