package clickhouse

import (
	"context"
	"fmt"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op/attr"
)

// The defaults of [LoadOptions].
const (
	DefaultBatchRows  = 50_000
	DefaultBatchBytes = 32 << 20
)

// LoadOptions are the options of Load. The zero value means the defaults.
type LoadOptions struct {
	// BatchRows and BatchBytes limit an insert.
	BatchRows  int
	BatchBytes int
	// Format is the format of the file; "" detects it.
	Format string
	// Mapping selects the attributes of spans to keep; nil keeps the attributes of the conventions.
	Mapping *attr.Mapping
	// MaxMemory limits the memory of readers, see [ingest.Options].
	MaxMemory int64
}

// Loaded is the result of Load.
type Loaded struct {
	// Rows counts the rows of the file in the table, and Inserted the newly inserted ones.
	Rows, Inserted uint64
	// Envelope has the counts of the file.
	Envelope analyze.Envelope
}

// Load inserts each record of a file into the table once. The SHA-256 of the file and the record's number identify a
// record, so an interrupted load can be repeated: Load inserts the missing rows. Reports include a file after Load
// has checked that the table has all of it.
//
// Only one load of a file may run at a time, and all loads of it must use the same server. Load waits for inserts of
// an interrupted load there. If the table has a record twice nevertheless, Load fails, and reports exclude the file.
//
// Loaded counts damaged records; they are not errors.
func Load(ctx context.Context, db DB, path string, opts LoadOptions) (*Loaded, error) {
	if opts.BatchRows <= 0 {
		opts.BatchRows = DefaultBatchRows
	}
	if opts.BatchBytes <= 0 {
		opts.BatchBytes = DefaultBatchBytes
	}
	in, err := identify(path)
	if err != nil {
		return nil, err
	}
	before, err := findInput(ctx, db, in)
	if err != nil {
		return nil, err
	}
	if before != nil {
		return &Loaded{Rows: before.rows, Envelope: before.envelope}, nil
	}
	l := &loader{db: db, in: in, opts: opts, list: columns()}
	for _, step := range []func(context.Context) error{l.awaitInserts, l.load, l.check} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("loading %s: %w", path, err)
		}
	}
	if err := in.complete(ctx, db); err != nil {
		return nil, err
	}
	return &Loaded{Rows: in.rows, Inserted: l.inserted, Envelope: in.envelope}, nil
}
