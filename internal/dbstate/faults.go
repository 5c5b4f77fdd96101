package dbstate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"surehand/internal/plant"
)

func fault(kind plant.FaultKind, err error) error { return &plant.Fault{Kind: kind, Err: err} }

func faultf(kind plant.FaultKind, format string, args ...any) error {
	return fault(kind, fmt.Errorf(format, args...))
}

// beforeCommit classifies an error that came before COMMIT was sent: surely nothing was committed, so only
// what to do next is open.
func beforeCommit(doing string, err error) error {
	var already *plant.Fault
	if errors.As(err, &already) {
		return err
	}
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return faultf(kindOfCode(answer), "%s: %w", doing, err)
	}
	var unsent pgx.ErrPreprocessingBatch
	if errors.As(err, &unsent) && strings.Contains(unsent.Error(), "(build)") {
		// The driver could not write a row's value in the form of its column: the data is at fault. Its other
		// step, "prepare", talks to the server and fails with the connection.
		return faultf(plant.FaultConflict, "%s: %w", doing, err)
	}
	return faultf(plant.FaultAway, "%s: %w", doing, err)
}

// afterCommit classifies an error that came after COMMIT was sent. Only an answer of the server that ends
// the transaction and not the connection is definite: a server that shuts down may have committed before it
// says so.
func afterCommit(err error) error {
	var answer *pgconn.PgError
	if errors.As(err, &answer) && answer.Severity == "ERROR" {
		return faultf(kindOfCode(answer), "the commit was refused: %w", err)
	}
	return faultf(plant.FaultDoubt, "the answer to the commit was lost: %w", err)
}

// kindOfCode is the table of SQLSTATE classes.
func kindOfCode(e *pgconn.PgError) plant.FaultKind {
	switch e.Code {
	case "25006": // read-only: a standby, or a disk that was set so
		return plant.FaultAway
	case "0A000": // a column's type changed under a prepared statement; the driver prepares it anew
		return plant.FaultAgain
	case "26000": // the prepared statement is gone
		return plant.FaultAgain
	case "55P03": // lock timeout
		return plant.FaultAgain
	case "57014": // statement timeout: the server is too slow to serve
		return plant.FaultAway
	}
	switch {
	case hasClass(e.Code, "22", "23", "54"): // data, constraint, a row too large to store
		return plant.FaultConflict
	case hasClass(e.Code, "40"): // serialisation failure, deadlock
		return plant.FaultAgain
	case hasClass(e.Code, "08", "57P", "53", "58", "28", "3D"): // connection, shutdown, resources, its disk, login, database gone
		return plant.FaultAway
	}
	return plant.FaultBug
}

func hasClass(code string, classes ...string) bool {
	for _, c := range classes {
		if strings.HasPrefix(code, c) {
			return true
		}
	}
	return false
}
