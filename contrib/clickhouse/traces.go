package clickhouse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// Traces selects traces to read as records, for figures that need the structure of a run, such as critical
// paths and stacks.
type Traces struct {
	// IDs are the traces. Without IDs the Slowest traces are selected, by the time from first start to last end.
	IDs     []op.TraceID
	Slowest int
	// MaxRecords limits the operations and spans of all selected traces; 0 is DefaultMaxRecords. More are an error.
	MaxRecords int64
}

// DefaultMaxRecords is the default of [Traces.MaxRecords]. A report takes about 100 bytes of memory for each.
const DefaultMaxRecords = 1_000_000

// Records yields the operations and spans of traces in the order of the input. A resource precedes the
// first record with it. A record is valid until the next one; an error is yielded last.
func (s Source) Records(ctx context.Context, t Traces) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		errStop := errors.New("no more records are wanted")
		err := s.each(ctx, t, func(rec op.Record) error {
			if !yield(rec, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(op.Record{}, err)
		}
	}
}

// ReportOn returns the whole report on traces, with the figures that need their structure.
func (s Source) ReportOn(ctx context.Context, t Traces, o analyze.Options) (*analyze.Report, error) {
	return analyze.Run(ctx, analyze.Records(s.Records(ctx, t)), o)
}

func (s Source) each(ctx context.Context, t Traces, f func(op.Record) error) error {
	selected, err := s.selection(ctx, analyze.Options{})
	if err != nil || selected.isEmpty() {
		return err
	}
	ids, err := selected.traceIDs(ctx, t)
	if err != nil || len(ids) == 0 {
		return err
	}
	where := "record IN ('entry', 'span') AND trace_id IN (" + strings.Join(ids, ", ") + ")" + selected.inInputs()
	n, err := selected.count(ctx, where)
	if err != nil {
		return fmt.Errorf("asking ClickHouse: %w", err)
	}
	if limit := cmp.Or(t.MaxRecords, DefaultMaxRecords); n > limit {
		return fmt.Errorf("%d traces have %d operations and spans, more than the limit of %d", len(ids), n,
			limit)
	}
	var source op.Resource
	return selected.records(ctx, where, "ORDER BY "+selected.order(), func(r *row) error {
		rec, err := r.rec()
		if err != nil {
			return err
		}
		if r.e.Service != source.Service || r.e.Host != source.Host {
			source = op.Resource{Service: r.e.Service, Host: r.e.Host}
			if r.e.Host != "" {
				source.Attrs = []op.Attr{{Key: attrkey.HostName, Value: r.e.Host}}
			}
			if err := f(op.Record{Resource: &source}); err != nil {
				return err
			}
		}
		return f(rec)
	})
}

func (s *selection) traceIDs(ctx context.Context, t Traces) ([]string, error) {
	var ids []string
	for _, id := range t.IDs {
		ids = append(ids, quote(id.String()))
	}
	if len(ids) > 0 || t.Slowest <= 0 {
		return ids, nil
	}
	where := "record IN ('entry', 'span') AND trace_id != '' AND start_unix_ns IS NOT NULL" + s.inInputs()
	const start = "assumeNotNull(start_unix_ns)"
	rest := fmt.Sprintf("GROUP BY trace_id ORDER BY max(%[1]s + duration_ns) - min(%[1]s) DESC, trace_id LIMIT %[2]d",
		start, t.Slowest)
	var id string
	err := s.query(ctx, []place{{"trace_id", &id}}, where, rest, func() error {
		ids = append(ids, quote(id))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("asking ClickHouse: %w", err)
	}
	return ids, nil
}
