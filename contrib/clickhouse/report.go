package clickhouse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
)

// Source is operations in ClickHouse.
type Source struct {
	DB DB
	// View is a view with the columns of the table, over rows that another program writes; ""
	// is the table that Load fills. Of a view, the FLOPs are those recorded alone.
	View string
	// MaxSorted bounds the operations of a device that a server puts in order at once for its time
	// line, where traces overlap on it; 0 is DefaultMaxSorted. Beyond that the time line is not known.
	MaxSorted int
}

// DefaultMaxSorted is the default of [Source.MaxSorted].
const DefaultMaxSorted = 5_000_000

// leftOut says why figures of a report are not known.
const leftOut = "ClickHouse computes sums and the time lines of devices, and not what needs the structure of the run"

// Profile returns the sums of the operations, as optrace convert -to profile writes them:
// optrace report reads them, together with others.
func (s Source) Profile(ctx context.Context, o analyze.Options) ([]byte, error) {
	selected, err := s.selection(ctx, o)
	if err != nil {
		return nil, err
	}
	d, err := selected.read(ctx, o)
	if err != nil {
		return nil, err
	}
	return d.text.Bytes(), nil
}

// selection returns the rows that a report with the options is on: those of all inputs that are in the table as a whole,
// or of a view.
func (s Source) selection(ctx context.Context, o analyze.Options) (*selection, error) {
	if o.Peaks != nil {
		return nil, errors.New("rooflines are not computed in ClickHouse")
	}
	if err := checkSettings(ctx, s.DB); err != nil {
		return nil, err
	}
	if s.View != "" {
		return &selection{db: s.DB, table: s.View, recordedFLOPs: true}, nil
	}
	inputs, err := readInputs(ctx, s.DB)
	var ids []string
	for _, in := range inputs {
		ids = append(ids, strconv.FormatUint(in.id, 10))
	}
	return &selection{s.DB, tableOps, inputs, strings.Join(ids, ","), o.RecordedFLOPs}, err
}

// Report returns the report on the operations. What needs the structure of the run is not known
// in it, but for the time lines of devices.
func (s Source) Report(ctx context.Context, o analyze.Options) (*analyze.Report, error) {
	o.SumsOnly = true
	if s.View != "" {
		o.RecordedFLOPs = true
	}
	selected, err := s.selection(ctx, o)
	if err != nil {
		return nil, err
	}
	d, err := selected.read(ctx, o)
	if err != nil {
		return nil, err
	}
	r, err := analyze.Run(ctx, analyze.Records(func(yield func(op.Record, error) bool) {
		yield(op.Record{Partial: &op.Partial{File: "ClickHouse", Text: d.text.Bytes()}}, nil)
	}), o)
	if err != nil {
		return nil, err
	}
	if r.Input.Entries != d.entries || r.Input.Malformed != d.malformed || r.Total.Count > r.Input.Entries {
		return nil, fmt.Errorf("the sums do not go together, because rows came while they were made: %q", r.Input.Problems)
	}
	r.LeftOut = leftOut
	if selected.isEmpty() {
		return r, nil
	}
	return r, selected.addTimelines(ctx, r, cmp.Or(s.MaxSorted, DefaultMaxSorted))
}
