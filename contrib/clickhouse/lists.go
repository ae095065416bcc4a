package clickhouse

import (
	"context"
	"fmt"

	"github.com/optrace/optrace/op"
)

// list returns the first n entries with cond. Of duplicates with the same ids and times it returns the first.
func (s *selection) list(ctx context.Context, cond, order string, n int) ([]*op.Entry, error) {
	if n <= 0 {
		return nil, nil
	}
	// The first query sorts only the numbers of rows. The table is sorted by trace, so the second query
	// finds them quickly.
	const none = "(trace_id = '' OR span_id = '')"
	rest := fmt.Sprintf("ORDER BY %s LIMIT 1 BY trace_id, span_id, start_unix_ns, duration_ns, "+
		"%[2]s * input, %[2]s * row LIMIT %d", order, none, n)
	var rows, traces []string
	var trace, span string
	var input, number uint64
	places := []place{{"trace_id", &trace}, {"span_id", &span}, {"input", &input}, {"row", &number}}
	err := s.query(ctx, places, s.where(recordEntry, cond), rest, func() error {
		traces = append(traces, trace)
		rows = append(rows, fmt.Sprintf("(%s, toUInt64(%d), toUInt64(%d))", quote(span), input, number))
		return nil
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var entries []*op.Entry
	cond = "(" + cond + ") AND trace_id IN (" + quoted(traces) + ") AND tuple(span_id, input, row) IN (" + names(rows) +
		")"
	err = s.records(ctx, s.where(recordEntry, cond), rest, func(r *row) error {
		e := r.entry()
		if s.listed == "" {
			e.Attrs = nil // a view has all attributes, including other fields
		}
		entries = append(entries, e)
		return nil
	})
	return entries, err
}

// records calls f for each selected row. A row is valid until f returns.
func (s *selection) records(ctx context.Context, where, rest string, f func(*row) error) error {
	list := columns()
	return s.db.Query(ctx, "SELECT "+names(namesOf(list))+" FROM "+s.from(where, rest),
		func(scan func(...any) error) error {
			var r row
			if err := scan(r.places(list)...); err != nil {
				return err
			}
			if err := r.scanned(); err != nil {
				return err
			}
			return f(&r)
		})
}
