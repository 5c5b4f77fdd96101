package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

const (
	sensors            = 200
	readingsPerMessage = 2 // a turn takes 512 messages: about 1,000 readings
	readingsPerCopy    = 1000
	messagesUnderWay   = 2000 // the inbox has room for 2,048
)

// ingest: readings to a committed telemetry row and event row each, told apart from repetitions, newest values
// kept, rules evaluated. Held against COPY of the very rows that the loop wrote, into copies of both tables
// with the same indexes, from bytes that are ready: what PostgreSQL can take when nothing is decided.
func ingest(ctx context.Context, s *site) (round, error) {
	h, err := s.house(ctx, "ingest", houseSpec{valves: sensors, sensors: sensors})
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, s.cluster.url("ingest"))
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() { _ = conn.Close(context.Background()) })
	for _, t := range copiedTables {
		if _, err := conn.Exec(ctx, fmt.Sprintf("CREATE TABLE %s_copy (LIKE %s INCLUDING ALL)", t, t)); err != nil {
			return nil, err
		}
	}
	seq := int64(0)
	return func(ctx context.Context) (float64, float64, error) {
		began := time.Now()
		perSecond, err := h.pour(ctx, s, &seq)
		if err != nil {
			return 0, 0, err
		}
		copied, err := copyAgain(ctx, conn, began)
		return perSecond, copied, err
	}, nil
}

// pour feeds readings for the window, from messages that were made before.
func (h *house) pour(ctx context.Context, s *site, seq *int64) (perSecond float64, err error) {
	// More than any machine takes; the messages under way are topped up from it.
	made := h.readings(int(s.options.seconds*60000)/readingsPerMessage, seq)
	replies := make(chan message.Answer, messagesUnderWay)
	before := counts(h.feed)
	cpu, err := processCPU()
	if err != nil {
		return 0, err
	}
	backend, err := backendCPU(h.backend)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	underWay, next := 0, 0
	for next < len(made) && time.Since(began) < s.options.window() || underWay > 0 {
		for underWay < messagesUnderWay && next < len(made) && time.Since(began) < s.options.window() {
			m := made[next]
			m.Reply, m.CreatedAt = replies, time.Now()
			if !h.loop.Post(m) {
				break
			}
			next++
			underWay++
		}
		select {
		case a := <-replies:
			underWay--
			if a.Outcome.Code != message.Noted && a.Outcome.Code != message.Accepted {
				return 0, fmt.Errorf("a reading was not stored: %+v", a.Outcome)
			}
		case err := <-h.ended:
			return 0, fmt.Errorf("the loop ended: %w", err)
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	wall := time.Since(began)
	n := int64(next * readingsPerMessage)
	after := counts(h.feed)
	for late := time.Now(); after.readings-before.readings < n && time.Since(late) < time.Second; after = counts(h.feed) {
		time.Sleep(time.Millisecond) // answers come first, then what the loop shows
	}
	if after.readings-before.readings != n || after.events-before.events != n {
		return 0, fmt.Errorf("%d readings made %d telemetry rows and %d events", n, after.readings-before.readings, after.events-before.events)
	}
	if cpuAfter, err := processCPU(); err == nil {
		backendAfter, _ := backendCPU(h.backend)
		s.note("turns of %d readings; µs a reading: PostgreSQL %.1f, Go with generator %.1f", n/max(1, after.commits-before.commits),
			float64((backendAfter-backend).Microseconds())/float64(n), float64((cpuAfter-cpu).Microseconds())/float64(n))
	}
	return float64(n) / wall.Seconds(), nil
}

type counted struct{ commits, readings, events int64 }

func counts(t *tally) counted { return counted{t.commits.Load(), t.readings.Load(), t.events.Load()} }

// readings of all sensors in turn, sampled shortly before now, as the MQTT worker makes them of what comes.
func (h *house) readings(n int, seq *int64) []message.Message {
	made := make([]message.Message, n)
	first := time.Now().Add(-time.Duration(n) * 20 * time.Microsecond)
	for i := range made {
		t := message.TelemetryReceived{Serial: sensorSerial(i % sensors), Delivery: message.Delivery{PacketID: uint16(1 + i%65535)}}
		for r := range readingsPerMessage {
			*seq++
			at := plant.Micros(first.Add(time.Duration(i*readingsPerMessage+r) * 10 * time.Microsecond))
			value := term.Float(20 + float64(*seq%100)/10)
			t.Readings = append(t.Readings, message.Reading{Fields: []message.Field{{Key: "temperature", Value: value}}, At: at, Seq: *seq, BootID: bootID,
				Canonical: fmt.Sprintf(`{"bootId":%q,"seq":%d,"ts":%q,"values":{"temperature":%s}}`, bootID, *seq, at.Format(time.RFC3339Nano), value)})
		}
		made[i] = h.stamp(message.FromTelemetry, t)
	}
	return made
}

var copiedTables = [2]string{"telemetry", "automation_endpoint_events"}

// copyAgain takes what the loop wrote since a moment, in pieces, and times how fast COPY writes it again.
func copyAgain(ctx context.Context, conn *pgx.Conn, since time.Time) (perSecond float64, err error) {
	var pieces [][2]*bytes.Buffer
	lastIDs := [2]string{"00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000"}
	for {
		var piece [2]*bytes.Buffer
		for t, name := range copiedTables {
			part := fmt.Sprintf("FROM %s WHERE id > '%s' AND received_at >= '%s' ORDER BY id LIMIT %d",
				name, lastIDs[t], since.UTC().Format(time.RFC3339Nano), readingsPerCopy)
			piece[t] = &bytes.Buffer{}
			tag, err := conn.PgConn().CopyTo(ctx, piece[t], "COPY (SELECT * "+part+") TO STDOUT (FORMAT binary)")
			if err != nil {
				return 0, err
			}
			if tag.RowsAffected() < readingsPerCopy {
				return copyIn(ctx, conn, pieces)
			}
			if err := conn.QueryRow(ctx, "SELECT id::text FROM (SELECT id "+part+") p ORDER BY p.id DESC LIMIT 1").Scan(&lastIDs[t]); err != nil {
				return 0, err
			}
		}
		pieces = append(pieces, piece)
	}
}

func copyIn(ctx context.Context, conn *pgx.Conn, pieces [][2]*bytes.Buffer) (perSecond float64, err error) {
	if len(pieces) == 0 {
		return 0, fmt.Errorf("fewer than %d readings were written", readingsPerCopy)
	}
	began := time.Now()
	for _, piece := range pieces {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			for t, name := range copiedTables {
				if _, err := tx.Conn().PgConn().CopyFrom(ctx, piece[t], "COPY "+name+"_copy FROM STDIN (FORMAT binary)"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return float64(len(pieces)*readingsPerCopy) / time.Since(began).Seconds(), nil
}
