package clickhouse

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/op"
)

// read returns the sums of the selected rows.
func (s Source) read(ctx context.Context, opts analyze.Options) (*documents, error) {
	selected, err := s.selection(ctx, opts)
	if err != nil {
		return nil, err
	}
	o := profile.Options{By: opts.By, MaxGroups: opts.MaxGroups, Top: opts.Top,
		HotspotBytes: opts.HotspotBytes}.WithDefaults()
	d := newDocuments(o, selected.recordedFLOPs)
	for _, in := range selected.inputs {
		d.addInput(in)
	}
	if selected.table == tableOps && len(selected.inputs) == 0 {
		d.begin(line{}, line{})
		d.end()
	} else if err := selected.addSums(ctx, d, o); err != nil {
		return nil, fmt.Errorf("asking ClickHouse: %w", err)
	}
	return d, d.failed
}

func (s *selection) addSums(ctx context.Context, d *documents, o profile.Options) error {
	totals, err := s.totals(ctx, o.HotspotBytes)
	if err != nil {
		return err
	}
	input := line{"weighted": totals["weighted"]}
	if d.entries, err = s.count(ctx, s.where(recordEntry, "")); err != nil {
		return err
	}
	spans := int64(0)
	if s.inputs == nil { // the counts of inputs include skipped spans
		if spans, err = s.count(ctx, s.where(recordSpan, "")); err != nil {
			return err
		}
	}
	input["entries"], input["skipped"] = d.entries, spans
	if input["warnings"], err = s.warnings(ctx); err != nil {
		return err
	}
	d.begin(input, totals)
	if spans > 0 {
		d.reason("skipped", string(op.SkipNonOp), spans)
	}
	for _, add := range []func(context.Context, *documents) error{
		s.addGaps, s.addWriters, s.addOperations, s.addDevices, s.addErrors,
	} {
		if err := add(ctx, d); err != nil {
			return err
		}
	}
	if err := s.addGroups(ctx, d, o); err != nil {
		return err
	}
	if err := s.addLists(ctx, d, o); err != nil {
		return err
	}
	d.end()
	return nil
}

func (s *selection) addGaps(ctx context.Context, d *documents) error {
	var reason string
	var dropped int64
	places := []place{{"gap_reason", &reason}, {"sum(greatest(gap_dropped, 0))", &dropped}}
	return s.query(ctx, places, s.where(recordGap, ""), "GROUP BY gap_reason", func() error {
		d.reason("dropped", cmp.Or(reason, "unknown"), dropped)
		return nil
	})
}

func (s *selection) count(ctx context.Context, where string) (int64, error) {
	var n uint64
	err := s.query(ctx, []place{{"count()", &n}}, where, "", func() error { return nil })
	return int64(n), err
}

func (s *selection) warnings(ctx context.Context) (map[string]uint64, error) {
	warnings := make(map[string]uint64)
	var name string
	var n uint64
	places := []place{{"arrayJoin(warn) AS w", &name}, {"count()", &n}}
	return warnings, s.query(ctx, places, s.where(recordEntry, "notEmpty(warn)"), "GROUP BY w", func() error {
		if _, ok := op.ParseWarning(name); ok {
			warnings[name] = n
		}
		return nil
	})
}

// addWriters adds the batch numbers of each writer, as ranges.
func (s *selection) addWriters(ctx context.Context, d *documents) error {
	var writer string
	var numbers []int64
	places := []place{{"batch_writer", &writer}, {"arraySort(groupUniqArray(batch_seq))", &numbers}}
	return s.query(ctx, places, s.where(recordBatch, ""), "GROUP BY batch_writer", func() error {
		var ranges [][2]int64
		for _, n := range numbers {
			if last := len(ranges) - 1; last >= 0 && ranges[last][1] == n-1 {
				ranges[last][1] = n
			} else {
				ranges = append(ranges, [2]int64{n, n})
			}
		}
		d.row("writer", line{"writer": writer, "batches": ranges})
		return nil
	})
}

func (s *selection) addOperations(ctx context.Context, d *documents) error {
	const communicates = "kind = 'collective' AND side = ''"
	q := newSumsReader([]string{"operation"}, s.recordedFLOPs)
	member[string](&q.reader, "name", "operation")
	q.count("communications", communicates)
	q.sum("communication_ns", sumOf(limbsOf("duration_ns"), communicates))
	return q.each(ctx, s, func(l line) { d.row("operation", l) })
}

// addErrors adds the errors by text and operation, with the earliest operation.
func (s *selection) addErrors(ctx context.Context, d *documents) error {
	var r reader
	var ids string
	var start *int64
	member[string](&r, "text", "error")
	member[string](&r, "operation", "operation")
	member[string](&r, "side", "side")
	member[uint64](&r, "count", "count()")
	r.add("argMin("+exemplarIDs+", tuple(isNull(start_unix_ns), ifNull(start_unix_ns, 0), "+exemplarIDs+"))", &ids)
	r.add("min(start_unix_ns)", &start)
	return r.grouped(ctx, s, "failed = 1", []string{"error", "operation", "side"}, "errors", func(l line) error {
		first := line{"start_unix_ns": start}
		setIDs(first, ids)
		l["first"] = first
		d.row("error", l)
		return nil
	})
}

func (s *selection) addGroups(ctx context.Context, d *documents, o profile.Options) error {
	if len(o.By) == 0 {
		return nil
	}
	var keys []keyColumn
	var exprs []string
	for _, k := range o.By {
		c, err := keyColumnOf(k)
		if err != nil {
			return err
		}
		keys = append(keys, c)
		exprs = append(exprs, c.expr)
	}
	q := newSumsReader(exprs, s.recordedFLOPs)
	return q.each(ctx, s, func(l line) {
		values := make([]json.RawMessage, len(keys))
		for i, v := range q.key {
			values[i] = keys[i].value(v)
		}
		l["values"] = values
		d.row("group", l)
	})
}

func (c keyColumn) value(v *string) json.RawMessage {
	if v != nil && c.number {
		if n, err := strconv.ParseInt(*v, 10, 64); err == nil {
			return strconv.AppendInt(nil, n, 10)
		}
	}
	text, _ := json.Marshal(v) // never fails
	return text
}

func (s *selection) addLists(ctx context.Context, d *documents, o profile.Options) error {
	for _, list := range []struct{ name, cond, order string }{
		{"slowest", onDevice, "duration_ns DESC, " + s.order()},
		{"hotspot", fmt.Sprintf("%s AND ifNull(memory_bytes, 0) > %d", onDevice, o.HotspotBytes), s.order()},
	} {
		entries, err := s.list(ctx, list.cond, list.order, o.Top)
		if err != nil {
			return err
		}
		for _, e := range entries {
			d.put(line{list.name: json.RawMessage(e.AppendJSON(nil))})
		}
	}
	return nil
}

// keyColumn is a key of groups as an expression.
type keyColumn struct {
	expr   string // of type Nullable(String)
	number bool   // the values are integers
}

// keyColumnOf returns the expression of a key. Rows do not have the local root.
func keyColumnOf(k key.Key) (keyColumn, error) {
	if name := k.Attr(); name != "" {
		at := "indexOf(attr_k, " + quote(name) + ")"
		return keyColumn{expr: "if(" + at + " > 0, attr_v[" + at + "], NULL)"}, nil
	}
	switch name := k.String(); name {
	case "operation", "kind", "service", "path":
		return keyColumn{expr: "nullIf(" + name + ", '')"}, nil
	case "shape":
		return keyColumn{expr: "nullIf(shapes, '')"}, nil
	case "error":
		return keyColumn{expr: "if(failed = 1, error, NULL)"}, nil
	case "device":
		return keyColumn{expr: "device_id"}, nil
	case "rank", "stream", "step":
		return keyColumn{expr: "toString(" + name + ")", number: true}, nil
	case "trace":
		return keyColumn{expr: "if(trace_id = '' OR startsWith(trace_id, '6f70747261636501'), NULL, trace_id)"}, nil
	}
	return keyColumn{}, errors.New("groups by root need the structure of the run: use optrace report on the files")
}
