package clickhouse

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
)

func (s *selection) read(ctx context.Context, o analyze.Options) (*documents, error) {
	d := newDocuments(o, s.recordedFLOPs)
	for _, in := range s.inputs {
		d.addInput(in)
	}
	if s.isEmpty() {
		d.begin(line{}, line{})
		d.end()
		return d, nil
	}
	if err := s.addSums(ctx, d, o); err != nil {
		return nil, fmt.Errorf("asking ClickHouse: %w", err)
	}
	return d, d.failed
}

func (s *selection) addSums(ctx context.Context, d *documents, o analyze.Options) error {
	totals, err := s.totals(ctx, o.HotspotBytes)
	if err != nil {
		return err
	}
	input := line{"weighted": totals["weighted"]}
	if d.entries, err = s.countEntries(ctx, ""); err != nil {
		return err
	}
	spans, err := s.countSpans(ctx)
	if err != nil {
		return err
	}
	input["entries"], input["skipped"] = d.entries, spans
	if input["warnings"], err = s.warnings(ctx); err != nil {
		return err
	}
	d.begin(input, totals)
	if spans > 0 {
		d.reason("skipped", string(op.SkipNonOp), spans)
	}
	for _, add := range []func(context.Context, *documents) error{s.addGaps, s.addWriters, s.addOperations, s.addDevices} {
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
	columns := []string{"gap_reason", "sum(greatest(gap_dropped, 0))"}
	return s.query(ctx, columns, s.where(recordGap, ""), "GROUP BY gap_reason", func(scan func(...any) error) error {
		err := scan(&reason, &dropped)
		d.reason("dropped", cmp.Or(reason, "unknown"), dropped)
		return err
	})
}

func (s *selection) count(ctx context.Context, where string) (int64, error) {
	var n uint64
	err := s.query(ctx, []string{"count()"}, where, "", func(scan func(...any) error) error { return scan(&n) })
	return int64(n), err
}

// countEntries returns how many entries there are at which cond holds.
func (s *selection) countEntries(ctx context.Context, cond string) (int64, error) {
	return s.count(ctx, s.where(recordEntry, cond))
}

// countSpans returns how many spans of a view are no operations. Of inputs, their counts have them, and those that
// readers passed over.
func (s *selection) countSpans(ctx context.Context) (int64, error) {
	if s.inputs != nil {
		return 0, nil
	}
	return s.count(ctx, s.where(recordSpan, ""))
}

func (s *selection) warnings(ctx context.Context) (map[string]uint64, error) {
	warnings := make(map[string]uint64)
	var name string
	var n uint64
	err := s.entries(ctx, []string{"arrayJoin(warn) AS w", "count()"}, "notEmpty(warn)", "GROUP BY w", func(scan func(...any) error) error {
		err := scan(&name, &n)
		if _, ok := op.ParseWarning(name); ok && err == nil {
			warnings[name] = n
		}
		return err
	})
	return warnings, err
}

// addWriters adds the numbers of the batches of each writer, in ranges.
func (s *selection) addWriters(ctx context.Context, d *documents) error {
	var writer string
	var numbers []int64
	columns := []string{"batch_writer", "arraySort(groupUniqArray(batch_seq))"}
	return s.query(ctx, columns, s.where(recordBatch, ""), "GROUP BY batch_writer", func(scan func(...any) error) error {
		numbers = nil
		err := scan(&writer, &numbers)
		var ranges [][2]int64
		for _, n := range numbers {
			if last := len(ranges) - 1; last >= 0 && ranges[last][1] == n-1 {
				ranges[last][1] = n
			} else {
				ranges = append(ranges, [2]int64{n, n})
			}
		}
		d.row("writer", line{"writer": writer, "batches": ranges})
		return err
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

func (s *selection) addGroups(ctx context.Context, d *documents, o analyze.Options) error {
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
		keys, exprs = append(keys, c), append(exprs, c.expr)
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
	text, _ := json.Marshal(v) // a text has a form
	return text
}

func (s *selection) addLists(ctx context.Context, d *documents, o analyze.Options) error {
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
