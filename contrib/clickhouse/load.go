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

// LoadOptions says how to load. The zero value stands for the defaults.
type LoadOptions struct {
	// BatchRows and BatchBytes bound what is inserted at once.
	BatchRows  int
	BatchBytes int
	// Format is the format of the file, "" to find it by content.
	Format string
	// Mapping says which attributes of spans are kept; nil for those of the conventions.
	Mapping *attr.Mapping
	// MaxMemory bounds what readers hold, see [ingest.Options].
	MaxMemory int64
}

// Loaded says what became of a file.
type Loaded struct {
	// Rows is how many rows the file has in the table, and Inserted how many of them were
	// inserted now: the others were there.
	Rows, Inserted uint64
	// Envelope has the counts of the file.
	Envelope analyze.Envelope
}

// Load brings the records of a file into the table, each once. A record is identified by the
// SHA-256 of the file and by its number in it: where a load was ended before, by whatever, the
// next one inserts what is not there. A report has the file's operations once all of it is
// there, which Load checks.
//
// One load of a file may run at a time, and all of them through the same server: there it waits
// for an insert that another load, now gone, has under way. Should records get in twice all the
// same, Load fails, and the file is in no report.
//
// Damaged records are counted in Loaded, not errors.
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
