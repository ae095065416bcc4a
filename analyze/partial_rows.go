package analyze

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/optrace/optrace/analyze/internal/sequence"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

// The bounds of what partial results may state, so that many of them are added up without
// an overflow: of counts, of sizes of files, and of sums, as powers of two.
const (
	maxPartialCount = 1 << 48
	maxPartialBytes = 1 << 56
	maxSumBits      = 176
)

var (
	errNumber = errors.New("a number is negative, too large, or does not fit the others")
	errText   = errors.New("a text is none of those that it may be")
	errTwice  = errors.New("a part of partial results is there twice, or in the wrong place")
)

// addForm adds what a line has.
func (d *partialDoc) addForm(l *partialLine) error {
	p := d.profile
	switch {
	case l.Input != nil:
		return d.addInput(l.Input)
	case l.Reason != nil:
		return d.addReason(l.Reason)
	case l.Writer != nil:
		return d.addWriter(l.Writer)
	case l.Totals != nil:
		return d.addTotals(l.Totals)
	case l.Device != nil:
		return d.addDevice(l.Device)
	case l.Operation != nil:
		f := l.Operation
		side, err := sideNamed(f.Side)
		row := operationRow{name: f.Name, communications: f.Communications, communicated: f.CommunicationNS}
		if err != nil || !isCount(f.Communications, maxPartialCount) || !f.CommunicationNS.Fits(maxSumBits) {
			return errors.Join(err, errNumber)
		}
		if err := d.setSums(&row.accumulator, &f.sumsForm); err != nil {
			return err
		}
		if f.Other == nil {
			row.direction = copyDirection(f.Name)
		}
		return addRow(d, p.operations[side], []byte(f.Name), f.Other, row)
	default:
		f := l.Group
		side, err := sideNamed(f.Side)
		if err != nil {
			return err
		}
		row := groupRow{}
		if err := d.setSums(&row.accumulator, &f.sumsForm); err != nil {
			return err
		}
		var key []byte
		if f.Other == nil {
			if key, err = appendKeyValues(nil, p.opts.By, f.Values); err != nil {
				return err
			}
			row.values = cutKeys(string(key), p.opts.By)
		}
		return addRow(d, p.groups[side], key, f.Other, row)
	}
}

// addRow adds a row to a table, or what the table holds beside its rows.
func addRow[R any](d *partialDoc, t *table.Table[R], key []byte, other *otherForm, value R) error {
	if other == nil {
		const rowBytes = 1 << 10 // about what a row takes
		if err := d.hold(rowBytes); err != nil {
			return finalError{err}
		}
		row, isNew := t.Row(key)
		if !isNew || t.Evictions() > 0 {
			return errors.New("a row is there twice, or there are more rows than the table may have")
		}
		row.Value = value
		return nil
	}
	if len(other.Hashes)%8 != 0 {
		return errNumber
	}
	rest := table.Rest[R]{Other: value, Beyond: string(other.Beyond), Estimated: other.Estimated}
	for h := range slices.Chunk(other.Hashes, 8) {
		rest.Hashes = append(rest.Hashes, binary.BigEndian.Uint64(h))
	}
	return t.SetRest(rest)
}

func isCount(n, limit int64) bool { return 0 <= n && n <= limit }

func sideNamed(name string) (int, error) {
	for side := range 2 {
		if name == op.Side(side).String() {
			return side, nil
		}
	}
	return 0, errText
}

func (d *partialDoc) addInput(f *inputForm) error {
	c := d.counter
	if d.input {
		return errTwice
	}
	d.input = true
	for _, n := range []int64{f.Files, f.Entries, f.NoOps, f.Weighted, f.Truncated} {
		if !isCount(n, maxPartialCount) {
			return errNumber
		}
	}
	if !isCount(f.Bytes, maxPartialBytes) || min(f.Malformed, f.Dropped, f.MissingEntries) < 0 || len(f.Problems) > maxProblems {
		return errNumber
	}
	c.files, c.bytes, c.entries, c.nonOp, c.weighted = f.Files, f.Bytes, f.Entries, f.NoOps, f.Weighted
	c.malformed, c.truncated, c.droppedOps, c.missingEntries = f.Malformed, f.Truncated, f.Dropped, f.MissingEntries
	for _, name := range f.Formats {
		c.formats[name] = struct{}{}
	}
	for name, n := range f.Warnings {
		w, ok := op.ParseWarning(name)
		if !ok || !isCount(n, maxPartialCount) {
			return fmt.Errorf("warning %q of %d entries: %w", name, n, errNumber)
		}
		for bit := range c.warnings {
			if w == 1<<bit {
				c.warnings[bit] = n
			}
		}
	}
	for _, p := range f.Problems {
		c.addProblem(&op.SyntaxError{File: p.File, Line: p.Line, Offset: p.Offset, Msg: p.Message})
	}
	return nil
}

func (d *partialDoc) addReason(f *reasonForm) error {
	for _, of := range reasonTables {
		if of.name == f.Of && f.N >= 0 {
			return addRow(d, of.table(d.counter), []byte(f.Reason), f.Other, reasonCount{f.Reason, f.N})
		}
	}
	return errText
}

func (d *partialDoc) addWriter(f *writerForm) error {
	var set sequence.Set
	for _, r := range f.Batches {
		if r[0] > r[1] {
			return errNumber
		}
		set.AddRange(r[0], r[1])
	}
	return addRow(d, d.counter.writers, []byte(f.Writer), f.Other, set)
}

func (d *partialDoc) addTotals(f *totalsForm) error {
	p := d.profile
	if d.totals {
		return errTwice
	}
	d.totals = true
	if !isCount(f.Weighted, maxPartialCount) || !isCount(f.Hotspots, maxPartialCount) || f.PeakMemoryBytes < 0 ||
		f.First.Known != f.Last.Known || min(f.Rules.Attribute, f.Rules.Library, f.Rules.Name) < 0 ||
		max(f.Rules.Attribute, f.Rules.Library, f.Rules.Name) > maxPartialCount {
		return errNumber
	}
	p.weighted, p.peak, p.first, p.last = f.Weighted, f.PeakMemoryBytes, f.First, f.Last
	p.stated, p.states, p.rules, p.hotCount = f.StatedMore, f.States, f.Rules, f.Hotspots
	for _, c := range f.Copies {
		i := slices.Index(directionNames[:], c.Direction)
		if i < int(hostToDevice) || !isCount(c.Count, maxPartialCount) || !fit(c.SumNS, c.MemoryBytes, c.TimedNS, c.TimedBytes) {
			return errNumber
		}
		p.copies[i] = copies{c.Count, c.SumNS, c.MemoryBytes, c.TimedNS, c.TimedBytes}
	}
	return nil
}

func (d *partialDoc) addDevice(f *deviceForm) error {
	if !isCount(f.Count, maxPartialCount) || !fit(f.SumNS, f.MemoryBytes) || f.IsNone() && f.Service+f.Host != "" {
		return errNumber
	}
	row := deviceRow{key: f.DeviceKey, count: f.Count, sum: f.SumNS, memory: f.MemoryBytes}
	return addRow(d, d.profile.devices, f.appendTo(nil), f.Other, row)
}

// fit reports whether sums are not too large.
func fit(sums ...wide.Sum) bool {
	return !slices.ContainsFunc(sums, func(s wide.Sum) bool { return !s.Fits(maxSumBits) })
}

// setSums sets an accumulator, which is empty.
func (d *partialDoc) setSums(a *accumulator, f *sumsForm) error {
	if f.Count < 1 || !isCount(f.Count, maxPartialCount) || !isCount(f.Errors, f.Count) || f.MinNS < 0 || f.MinNS > f.MaxNS ||
		!fit(f.SumNS, f.Squares, f.Elements, f.MemoryBytes, f.FLOPs) {
		return errNumber
	}
	if !wide.Possible(f.SumNS, f.Squares, f.Count) {
		return errNumber
	}
	a.count, a.errors, a.min, a.max, a.sum, a.squares = f.Count, f.Errors, f.MinNS, f.MaxNS, f.SumNS, f.Squares
	a.elements, a.memory, a.flops = f.Elements, f.MemoryBytes, f.FLOPs
	var err error
	if a.durations, err = sketch.Of(f.Durations, f.Bins); err != nil {
		return err
	}
	if a.durations.Count() > f.Count {
		return errNumber
	}
	if err := d.hold(a.durations.Bytes()); err != nil {
		return finalError{err}
	}
	for _, name := range f.Kinds {
		k, ok := op.ParseKind(name)
		if !ok && name != "" {
			return fmt.Errorf("kind %q: %w", name, errText)
		}
		a.kinds |= 1 << k
	}
	if a.kinds == 0 {
		return fmt.Errorf("there is no kind: %w", errText)
	}
	if f.Exemplar != nil {
		a.slowest = Exemplar{f.Exemplar.TraceID, f.Exemplar.SpanID}
	}
	if w := f.Weighted; w != nil {
		a.weighted = &weighted{w.Count, w.Sum}
	}
	return errors.Join(a.variety.set(f), a.setWork(f.Work))
}

func (v *variety) set(f *sumsForm) error {
	v.inputs, v.output, v.dtype, v.dtypes = f.InputShapes, f.OutputShape, f.DType, f.InputDTypes
	flags := v.flags()
	for _, name := range f.Mixes {
		i := slices.Index(varietyNames[:], name)
		if i < 0 {
			return fmt.Errorf("mixes %q: %w", name, errText)
		}
		*flags[i] = true
	}
	return nil
}

func (a *accumulator) setWork(f *workForm) error {
	if f == nil {
		return nil
	}
	for _, n := range []int64{f.FLOPsCount, f.DerivedCount, f.MovedCount, f.BoundCount} {
		if !isCount(n, maxPartialCount) {
			return errNumber
		}
	}
	if !fit(f.Derived, f.TimeNS, f.MovedBytes, f.MovedFLOPs, f.BoundTimeNS, f.BoundFLOPs, f.BoundBytes, f.ArithmeticPS, f.MemoryPS) ||
		f.BoundCount > 0 && f.ArithmeticPS == f.MemoryPS && f.MemoryPS == (wide.Sum{}) {
		return errNumber
	}
	a.work = &workSums{
		flopsCount: f.FLOPsCount, derivedCount: f.DerivedCount, movedCount: f.MovedCount,
		derived: f.Derived, time: f.TimeNS, bytes: f.MovedBytes, movedFLOPs: f.MovedFLOPs,
		bound: boundSums{f.BoundCount, f.BoundTimeNS, f.BoundFLOPs, f.BoundBytes, f.ArithmeticPS, f.MemoryPS},
	}
	return nil
}
