package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/op"
)

// place identifies a row.
type place struct {
	input, row  uint64
	trace, span string
	start       *int64
	duration    int64
}

// slowest returns up to top entries of the longest durations, longest first.
func (s *selection) slowest(ctx context.Context, top int) ([]*op.Entry, error) {
	return s.list(ctx, onDevice, "duration_ns DESC, "+s.order(), top)
}

// hotspots returns the first up to top entries of more memory than that.
func (s *selection) hotspots(ctx context.Context, bytes int64, top int) ([]*op.Entry, error) {
	return s.list(ctx, fmt.Sprintf("%s AND ifNull(memory_bytes, 0) > %d", onDevice, bytes), s.order(), top)
}

// list returns the first up to n entries at which cond holds. Where records of the same ids and
// times are there twice, it has the first one.
func (s *selection) list(ctx context.Context, cond, order string, n int) ([]*op.Entry, error) {
	if n <= 0 {
		return nil, nil
	}
	var places []place
	for limit := n; ; limit *= 2 {
		all, err := s.places(ctx, cond, order, limit)
		if err != nil {
			return nil, err
		}
		places = withoutRepeats(all)
		if len(all) < limit || len(places) >= n {
			break
		}
	}
	places = places[:min(n, len(places))]
	return s.entriesAt(ctx, places)
}

// places returns where the first entries stand.
func (s *selection) places(ctx context.Context, cond, order string, limit int) ([]place, error) {
	var list []place
	columns := []string{"input", "row", "trace_id", "span_id", "start_unix_ns", "duration_ns"}
	rest := fmt.Sprintf("ORDER BY %s LIMIT %d", order, limit)
	err := s.entries(ctx, columns, cond, rest, func(scan func(...any) error) error {
		var p place
		err := scan(&p.input, &p.row, &p.trace, &p.span, &p.start, &p.duration)
		list = append(list, p)
		return err
	})
	return list, err
}

// withoutRepeats returns the places of records that do not repeat one before.
func withoutRepeats(places []place) []place {
	type identity struct {
		trace, span string
		start       op.Int
		duration    int64
	}
	seen := make(map[identity]bool)
	return slices.DeleteFunc(slices.Clone(places), func(p place) bool {
		if p.trace == "" || p.span == "" {
			return false
		}
		id := identity{p.trace, p.span, known(p.start), p.duration}
		repeats := seen[id]
		seen[id] = true
		return repeats
	})
}

// entriesAt returns the entries at places, in their order.
func (s *selection) entriesAt(ctx context.Context, places []place) ([]*op.Entry, error) {
	if len(places) == 0 {
		return nil, nil
	}
	at := make(map[place]int)
	var listed, traces []string
	for i, p := range places {
		p.start, p.duration = nil, 0
		at[p] = i
		listed = append(listed, fmt.Sprintf("(toUInt64(%d), toUInt64(%d))", p.input, p.row))
		traces = append(traces, quote(p.trace))
	}
	// The traces come first: by them the table is sorted.
	cond := "trace_id IN (" + strings.Join(traces, ", ") + ") AND tuple(input, row) IN (" + strings.Join(listed, ", ") + ")"
	entries := make([]*op.Entry, len(places))
	err := s.records(ctx, s.where(recordEntry, cond), "", func(r *row) error {
		i, ok := at[place{input: r.Input, row: r.Row, trace: idText(r.e.TraceID[:]), span: idText(r.e.SpanID[:])}]
		if !ok {
			return nil
		}
		e, err := r.entry()
		if entries[i] = e; err == nil && s.listed == "" {
			e.Attrs = nil // a view has all attributes, also those that other fields hold
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(entries, func(e *op.Entry) bool { return e == nil }), nil
}

// records calls f for the rows at which a condition holds. A row is valid until f returns.
func (s *selection) records(ctx context.Context, where, rest string, f func(*row) error) error {
	list := columns()
	var names []string
	for _, c := range list {
		names = append(names, c.name)
	}
	return s.query(ctx, names, where, rest, func(scan func(...any) error) error {
		var r row
		if err := scan(r.places(nil, list)...); err != nil {
			return err
		}
		if err := r.scanned(); err != nil {
			return err
		}
		return f(&r)
	})
}
