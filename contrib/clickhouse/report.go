package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
)

// Source is a set of operations in ClickHouse.
type Source struct {
	DB DB
	// View is a view with the columns of the table, over rows of another program; "" selects the table of
	// Load. A view only has recorded FLOPs.
	View string
}

// leftOut is the reason for missing figures in a report.
const leftOut = "ClickHouse computes sums, and not what needs the structure of the run"

// Profile returns the sums of the operations in the format of optrace convert -to profile. optrace report
// reads and adds up such profiles.
func (s Source) Profile(ctx context.Context, o analyze.Options) ([]byte, error) {
	d, err := s.read(ctx, o)
	if err != nil {
		return nil, err
	}
	return d.text.Bytes(), nil
}

// selection returns the rows for a report: all completely loaded inputs, or a view.
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

// Report returns the report on the operations, without figures that need the structure of the run.
func (s Source) Report(ctx context.Context, o analyze.Options) (*analyze.Report, error) {
	o.SumsOnly = true
	if s.View != "" {
		o.RecordedFLOPs = true
	}
	d, err := s.read(ctx, o)
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
		return nil, fmt.Errorf("the sums do not go together, because rows came while they were made: %q",
			r.Input.Problems)
	}
	r.LeftOut = leftOut
	return r, nil
}
