// Package read is what the API sees of the database: plain rows of package plant, in pages, and the event
// log in exact order.
//
// It has its own connections, and every one of them is read-only by its session: the API could not write if
// it tried. Each statement has a time limit, each answer a bound, so that a reader never becomes a burden to
// the loop. It must never decide, cache, or wait for the loop; SQL and generated types end here.
package read

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"surehand/ent"
	"surehand/internal/dbstate/entpgx"
	"surehand/internal/dbstate/rows"
	"surehand/internal/plant"
)

// Bounds of one answer.
const (
	DefaultLimit = 100
	MaxLimit     = 500
	MaxTimeline  = 1000 // log rows of one command
	statementMS  = 5000
	connections  = 8
)

var (
	ErrNotFound = errors.New("not found")
	ErrCursor   = errors.New("this cursor is not one that a page gave: start again without it")
)

// Reader answers the questions of the API. It may be used by several goroutines.
type Reader struct {
	pool   *pgxpool.Pool
	client *ent.Client
}

// Open makes the reading connections. They are opened as they are needed, so that an absent database is an
// error of the question and not of the start.
func Open(ctx context.Context, url string) (*Reader, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	config.MaxConns = connections
	config.ConnConfig.ConnectTimeout = 5 * time.Second
	for name, value := range map[string]string{
		"application_name":              "surehand read",
		"TimeZone":                      "UTC",
		"default_transaction_read_only": "on",
		"statement_timeout":             strconv.Itoa(statementMS),
		"jit":                           "off",
	} {
		config.ConnConfig.RuntimeParams[name] = value
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the reading connections: %w", err)
	}
	return &Reader{pool: pool, client: entpgx.Client(pool)}, nil
}

// Close waits for the questions that are being answered; their time limit bounds it.
func (r *Reader) Close() { r.pool.Close() }

// Ping tells whether the database answers.
func (r *Reader) Ping(ctx context.Context) error { return r.pool.Ping(ctx) }

// Page is a part of a list. Next is empty on the last one.
type Page[T any] struct {
	Items []T
	Next  string
}

// Fence is where the loop's last commit stands. Before the first start of the loop: ErrNotFound.
func (r *Reader) Fence(ctx context.Context) (plant.Fence, error) { return fence(ctx, r.client) }

func fence(ctx context.Context, c *ent.Client) (plant.Fence, error) {
	f, err := c.LoopState.Query().Only(ctx)
	if err != nil {
		return plant.Fence{}, found(err)
	}
	return rows.Fence(f), nil
}

// found makes the reader's own error of a missing row.
func found(err error) error {
	if ent.IsNotFound(err) || errors.Is(err, pgx.ErrNoRows) {
		return ErrNotFound
	}
	return fmt.Errorf("read the database: %w", err)
}

func bounded(limit int) int {
	if limit <= 0 {
		return DefaultLimit
	}
	return min(limit, MaxLimit)
}

// pageOf maps the rows of a query that asked for one more than fit.
func pageOf[E, R any](list []E, err error, limit int, mapped func(E) (R, error), keyOf func(E) string) (Page[R], error) {
	page := Page[R]{Items: []R{}}
	if err != nil {
		return page, found(err)
	}
	if len(list) > limit {
		list = list[:limit]
		page.Next = base64.RawURLEncoding.EncodeToString([]byte(keyOf(list[limit-1])))
	}
	for _, e := range list {
		r, err := mapped(e)
		if err != nil {
			return page, err
		}
		page.Items = append(page.Items, r)
	}
	return page, nil
}

// all maps the rows of a list that is short by nature.
func all[E, R any](list []E, err error, mapped func(E) (R, error)) ([]R, error) {
	page, err := pageOf(list, err, len(list)+1, mapped, nil)
	return page.Items, err
}

func one[E, R any](e E, err error, mapped func(E) (R, error)) (R, error) {
	if err != nil {
		var none R
		return none, found(err)
	}
	return mapped(e)
}

// after reads a cursor: the key behind which the page begins. ok is false without one.
func after(cursor string) (key string, ok bool, err error) {
	if cursor == "" {
		return "", false, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) == 0 || len(b) > 256 {
		return "", false, ErrCursor
	}
	return string(b), true, nil
}

// afterUUID reads the cursor of a list that is ordered by a UUID.
func afterUUID(cursor string) (string, bool, error) {
	key, ok, err := after(cursor)
	if err != nil || ok && !isUUID(key) {
		return "", false, ErrCursor
	}
	return key, ok, nil
}

func isUUID(s string) bool {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	_, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	return err == nil
}

// firstID is the smallest time-ordered id of a millisecond: what began at or after t has an id at or above.
func firstID(t time.Time) string {
	h := fmt.Sprintf("%012x", max(0, t.UnixMilli()))
	return h[:8] + "-" + h[8:] + "-0000-0000-000000000000"
}
