package clickhouse

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/op"
)

// read reads the sums of a selection.
func (s *selection) read(ctx context.Context, o analyze.Options) (*document, error) {
	d := &document{options: documentOptions{
		MaxGroups: o.MaxGroups, Top: o.Top, HotspotBytes: o.HotspotBytes, RecordedFLOPs: s.recordedFLOPs,
	}}
	if s.isEmpty() {
		return d, nil
	}
	for _, step := range []func(context.Context, *document, analyze.Options) error{
		s.addInput, s.addOperations, s.addGroups, s.addDevices, s.addLists,
	} {
		if err := step(ctx, d, o); err != nil {
			return nil, fmt.Errorf("asking ClickHouse: %w", err)
		}
	}
	return d, nil
}

// addInput adds the counts of the input, and the totals.
func (s *selection) addInput(ctx context.Context, d *document, o analyze.Options) error {
	t, err := s.totals(ctx, o.HotspotBytes)
	if err != nil {
		return err
	}
	d.totals, d.input.Weighted = *t, t.Weighted
	for _, in := range s.inputs {
		d.addEnvelope(&in.envelope)
	}
	d.addReasons(s.inputs)
	if d.input.Entries, err = s.countEntries(ctx, ""); err != nil {
		return err
	}
	if d.input.NoOps, err = s.countSpans(ctx, d); err != nil {
		return err
	}
	if err := s.addWarnings(ctx, d); err != nil {
		return err
	}
	if err := s.addGaps(ctx, d); err != nil {
		return err
	}
	return s.addWriters(ctx, d)
}

// addGaps adds the counts of operations that were lost by reason.
func (s *selection) addGaps(ctx context.Context, d *document) error {
	var reason string
	var dropped int64
	columns := []string{"gap_reason", "sum(greatest(gap_dropped, 0))"}
	return s.query(ctx, columns, s.where(recordGap, ""), "GROUP BY gap_reason", func(scan func(...any) error) error {
		err := scan(&reason, &dropped)
		d.addReason("dropped", cmp.Or(reason, "unknown"), dropped)
		return err
	})
}

func (s *selection) count(ctx context.Context, where string) (n int64, err error) {
	var r reader
	r.addCount("count()", &n)
	err = s.query(ctx, r.columns, where, "", r.scan)
	return n, err
}

// countEntries returns how many entries there are at which cond holds.
func (s *selection) countEntries(ctx context.Context, cond string) (int64, error) {
	return s.count(ctx, s.where(recordEntry, cond))
}

// countSpans returns how many spans are no operations: those in the table, and those that
// readers passed over.
func (s *selection) countSpans(ctx context.Context, d *document) (int64, error) {
	if s.inputs != nil {
		n := int64(0)
		for _, in := range s.inputs {
			n += in.envelope.Skipped
		}
		return n, nil
	}
	n, err := s.count(ctx, s.where(recordSpan, ""))
	if n > 0 {
		d.addReason("skipped", string(op.SkipNonOp), n)
	}
	return n, err
}

// addWarnings adds the counts of entries by warning.
func (s *selection) addWarnings(ctx context.Context, d *document) error {
	d.input.Warnings = make(map[string]int64)
	var r reader
	var name string
	var n int64
	r.add("arrayJoin(warn) AS w", &name)
	r.addCount("count()", &n)
	return s.entries(ctx, r.columns, "notEmpty(warn)", "GROUP BY w", func(scan func(...any) error) error {
		err := r.scan(scan)
		if _, ok := op.ParseWarning(name); ok && err == nil {
			d.input.Warnings[name] = n
		}
		return err
	})
}

// addWriters adds the numbers of the batches of each writer, in ranges.
func (s *selection) addWriters(ctx context.Context, d *document) error {
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
		d.writers = append(d.writers, line{"writer": map[string]any{"writer": writer, "batches": ranges}})
		return err
	})
}

// operationLine is a row of the table by operation.
type operationLine struct {
	Name string `json:"name"`
	Side string `json:"side,omitempty"`
	*sums
	Communications  int64    `json:"communications,omitempty"`
	CommunicationNS *big.Int `json:"communication_ns"`
}

func (s *selection) addOperations(ctx context.Context, d *document, _ analyze.Options) error {
	rows, err := s.sumsBy(ctx, []string{"operation"})
	for _, row := range rows {
		d.operations = append(d.operations, line{"operation": operationLine{
			Name: textOf(row.key[0]), Side: row.side(), sums: row,
			Communications: row.communications, CommunicationNS: row.communication,
		}})
	}
	return err
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (s *sums) side() string {
	if s.host {
		return op.SideHost.String()
	}
	return ""
}

// groupLine is a row of the table by the keys that were asked for.
type groupLine struct {
	Values []json.RawMessage `json:"values"`
	Side   string            `json:"side,omitempty"`
	*sums
}

func (s *selection) addGroups(ctx context.Context, d *document, o analyze.Options) error {
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
		d.options.By = append(d.options.By, k.String())
	}
	rows, err := s.sumsBy(ctx, exprs)
	for _, row := range rows {
		l := groupLine{Side: row.side(), sums: row}
		for i, v := range row.key {
			l.Values = append(l.Values, keys[i].value(v))
		}
		d.groups = append(d.groups, line{"group": l})
	}
	return err
}

// value returns the value of a key as JSON.
func (c keyColumn) value(v *string) json.RawMessage {
	switch {
	case v == nil:
		return json.RawMessage("null")
	case c.number:
		if n, err := strconv.ParseInt(*v, 10, 64); err == nil {
			return strconv.AppendInt(nil, n, 10)
		}
	}
	text, _ := json.Marshal(*v) // a text has a form
	return text
}

func (s *selection) addDevices(ctx context.Context, d *document, _ analyze.Options) error {
	rows, err := s.devices(ctx)
	for _, row := range rows {
		d.devices = append(d.devices, line{"device": row})
	}
	return err
}

func (s *selection) addLists(ctx context.Context, d *document, o analyze.Options) (err error) {
	if d.slowest, err = s.slowest(ctx, o.Top); err != nil {
		return err
	}
	d.hotspots, err = s.hotspots(ctx, o.HotspotBytes, o.Top)
	return err
}

// withDefaults returns options with the defaults in place of zeros, as package analyze has them.
func withDefaults(o analyze.Options) analyze.Options {
	if o.MaxGroups <= 0 {
		o.MaxGroups = profile.DefaultMaxGroups
	}
	if o.Top == 0 {
		o.Top = profile.DefaultTop
	}
	if o.HotspotBytes == 0 {
		o.HotspotBytes = profile.DefaultHotspotBytes
	}
	o.Top, o.HotspotBytes = max(0, o.Top), max(0, o.HotspotBytes)
	o.By = slices.Clone(o.By)
	return o
}
