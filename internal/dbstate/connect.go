package dbstate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"surehand/ent"
	"surehand/internal/loop"
	"surehand/internal/plant"
)

// Options say how the loop's connection is made. Zero means the default.
type Options struct {
	URL string // of PostgreSQL itself, not of a pooler: the interlock belongs to the session
	// Takeover ends the process that holds the interlock instead of refusing to start.
	Takeover bool
	// AllowUnsafe accepts a server that may lose commits (fsync off). For tests only.
	AllowUnsafe bool
	// Application is the name shown to whoever is refused the interlock; default "surehand" with host and pid.
	Application string
	// StatementTimeout of one statement; default 10 s.
	StatementTimeout time.Duration
	// LockTimeout for a row that someone else has locked; default 2 s.
	LockTimeout time.Duration
	// ConnectTimeout of one try; default 5 s.
	ConnectTimeout time.Duration
	Log            *slog.Logger
}

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&o.StatementTimeout, 10*time.Second)
	set(&o.LockTimeout, 2*time.Second)
	set(&o.ConnectTimeout, 5*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Application == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown host"
		}
		o.Application = fmt.Sprintf("surehand %s/%d", host, os.Getpid())
	}
	return o
}

// Store is the loop's truth on PostgreSQL. Its methods are called by one goroutine at a time.
type Store struct {
	options Options
	config  *pgx.ConnConfig
	log     *slog.Logger

	conn *pgx.Conn // nil: lost, to be reopened
	self backend   // of conn
	// past are our earlier backends that may still run on the server and hold our lock or the fence row.
	past []backend

	life     string
	epoch    int64
	server   server      // of the last commit that we know of
	fence    plant.Fence // after the last commit that we know of
	previous Previous

	writes *recorder
	client *ent.Client // on writes
}

var _ loop.Store = (*Store)(nil)

// backend is one connection as the server sees it. A pid alone may belong to someone else by now.
type backend struct {
	pid   uint32
	since time.Time
}

// server tells one PostgreSQL history from another: a restored copy or a promoted standby differs.
type server struct {
	system   string // identifier; empty: we may not read it
	timeline string
}

// Connect opens the loop's connection and checks the server. It takes no lock yet.
func Connect(ctx context.Context, options Options) (*Store, error) {
	o := options.withDefaults()
	config, err := pgx.ParseConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	settings(config, o)
	s := &Store{options: o, config: config, log: o.Log}
	s.writes, s.client = newRecorder()
	if s.conn, s.self, err = s.dial(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// settings of the loop's session.
func settings(config *pgx.ConnConfig, o Options) {
	config.ConnectTimeout = o.ConnectTimeout
	// A dead host must be noticed on both ends: here to reconnect, there to let the interlock go.
	dialer := &net.Dialer{Timeout: o.ConnectTimeout, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}}
	config.DialFunc = dialer.DialContext
	milliseconds := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	for name, value := range map[string]string{
		"application_name":        o.Application,
		"TimeZone":                "UTC",
		"tcp_keepalives_idle":     "5",
		"tcp_keepalives_interval": "2",
		"tcp_keepalives_count":    "3",
		"statement_timeout":       milliseconds(o.StatementTimeout),
		"lock_timeout":            milliseconds(o.LockTimeout),
		// A process that is paused between its statements and its commit must not block the next one for ever.
		"idle_in_transaction_session_timeout": milliseconds(10 * time.Second),
		"default_transaction_isolation":       "read committed",
		// Every write finds its rows by key. Planned once, and always by the index: a plan made while a table
		// was still empty would otherwise read all of it for every commit until the next analyse.
		"plan_cache_mode":  "force_generic_plan",
		"enable_hashjoin":  "off",
		"enable_mergejoin": "off",
		"enable_seqscan":   "off",
		"jit":              "off",
	} {
		config.RuntimeParams[name] = value
	}
}

// trip bounds an exchange with the server from our side: statement_timeout is the server's word and is lost
// with it, and TCP keepalive says nothing while data of ours is on its way or a middlebox is alive. statements
// is how many the server may work through one after the other.
func (s *Store) trip(ctx context.Context, statements int) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Duration(statements)*s.options.StatementTimeout+2*time.Second)
}

// dial opens one connection and refuses a server that cannot keep the promise.
func (s *Store) dial(ctx context.Context) (*pgx.Conn, backend, error) {
	conn, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return nil, backend{}, beforeCommit("connect to the database", err)
	}
	b, err := s.inspect(ctx, conn)
	if err != nil {
		s.hangUp(conn)
		return nil, backend{}, err
	}
	return conn, b, nil
}

// inspect asks a server who we are on it and whether it may be written and trusted.
func (s *Store) inspect(ctx context.Context, conn *pgx.Conn) (backend, error) {
	var (
		b                               backend
		standby                         bool
		readOnly, fsync, pages, waiting string
		version                         int
	)
	err := conn.QueryRow(ctx, `SELECT pg_backend_pid(), backend_start, pg_is_in_recovery(), current_setting('transaction_read_only'),
		current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
		current_setting('server_version_num')::int
		FROM pg_stat_activity WHERE pid = pg_backend_pid()`).Scan(&b.pid, &b.since, &standby, &readOnly, &fsync, &pages, &waiting, &version)
	switch {
	case err != nil:
		return b, beforeCommit("look at the database server", err)
	case standby:
		return b, faultf(plant.FaultAway, "this PostgreSQL is a standby and takes no writes: connect to the primary, or name all hosts with target_session_attrs=read-write")
	case readOnly != "off":
		return b, faultf(plant.FaultAway, "this PostgreSQL takes no writes (default_transaction_read_only is on): turn it off for this role and database")
	case version < 150000:
		return b, faultf(plant.FaultRefused, "this PostgreSQL is version %d; surehand needs 15 or newer", version/10000)
	}
	if s.options.AllowUnsafe {
		return b, nil
	}
	for _, setting := range []struct{ name, value string }{{"fsync", fsync}, {"full_page_writes", pages}, {"synchronous_commit", waiting}} {
		if setting.value == "off" {
			return b, faultf(plant.FaultRefused, "PostgreSQL runs with %s=off and may lose what it said was committed: set %s=on in postgresql.conf and restart it", setting.name, setting.name)
		}
	}
	return b, nil
}

// How often a lost connection is tried again within one call. The loop waits longer, not the store: while
// the database is away the loop has to say so.
var reopenPauses = []time.Duration{0, 50 * time.Millisecond, 250 * time.Millisecond}

// open gives the live connection, reopening it when it was lost.
func (s *Store) open(ctx context.Context) (*pgx.Conn, error) {
	if s.conn != nil && !s.conn.IsClosed() {
		return s.conn, nil
	}
	s.drop()
	ctx, cancel := s.trip(ctx, 1) // a server that accepts and then hangs must not hold the loop
	defer cancel()
	var err error
	for _, pause := range reopenPauses {
		if waited := wait(ctx, pause); waited != nil {
			return nil, faultf(plant.FaultAway, "reopen the connection: %w", errors.Join(err, waited))
		}
		if err = s.reopen(ctx); err == nil {
			return s.conn, nil
		}
		if plant.FaultOf(err) != plant.FaultAway {
			break
		}
	}
	return nil, err
}

// reopen connects again and, once a life has begun, takes the interlock back for it.
func (s *Store) reopen(ctx context.Context) error {
	conn, b, err := s.dial(ctx)
	if err != nil {
		return err
	}
	if s.life != "" {
		if err := s.takeInterlock(ctx, conn, false, 1); err != nil {
			s.hangUp(conn)
			return err
		}
	}
	s.conn, s.self = conn, b
	s.log.Info("the loop's database connection is open again", "pid", b.pid)
	return nil
}

// drop gives the connection up and remembers its backend, which may live on the server for a while.
func (s *Store) drop() {
	if s.conn == nil {
		return
	}
	s.past = append(s.past, s.self)
	if over := len(s.past) - 8; over > 0 {
		s.past = s.past[over:]
	}
	s.hangUp(s.conn)
	s.conn = nil
}

// hangUp closes a connection without waiting for a server that may not answer.
func (s *Store) hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := conn.Close(ctx); err != nil {
		s.log.Debug("closing a database connection", "error", err)
	}
}

func wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close gives the connection back without saying that this life ended; Stop does that.
func (s *Store) Close() error {
	s.drop()
	return nil
}
