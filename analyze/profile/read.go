package profile

import (
	"errors"
	"fmt"
	"slices"

	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// The faults of partial results.
var (
	ErrNumber = errors.New("a number is negative, too large, or does not fit the others")
	ErrText   = errors.New("a text is none of those that it may be")
	ErrTwice  = errors.New("a part of partial results is there twice, or in the wrong place")
)

// AddLine adds a line to p, which has no entries but those of lines that EachLine told, in
// their order. A line that cannot be one of a Profile is an error, and one of hold, which is
// told about how much memory the line takes, is a [HoldError].
func (p *Profile) AddLine(l *Line, hold func(bytes int64) error) error {
	r := lineReader{p, hold}
	switch {
	case l.Totals != nil:
		return r.addTotals(l.Totals)
	case l.Device != nil:
		return r.addDevice(l.Device)
	case l.Operation != nil:
		return r.addOperation(l.Operation)
	case l.Group != nil:
		return r.addGroup(l.Group)
	}
	return ErrText
}

// HoldError is an error of the memory that lines take, which no other line helps.
type HoldError struct{ Err error }

// Error returns that of Err.
func (e HoldError) Error() string { return e.Err.Error() }

// lineReader adds lines to a Profile.
type lineReader struct {
	*Profile
	hold func(bytes int64) error
}

// rowBytes is about what a row takes.
const rowBytes = 1 << 10

func (r lineReader) holdRow(other *table.Other) error {
	if other != nil {
		return nil
	}
	if err := r.hold(rowBytes); err != nil {
		return HoldError{err}
	}
	return nil
}

func (r lineReader) addOperation(f *operationForm) error {
	side, err := sideNamed(f.Side)
	row := operationRow{name: f.Name, communications: f.Communications, communicated: f.CommunicationNS}
	if err != nil || !wide.IsCount(f.Communications, wide.MaxCount) || !f.CommunicationNS.IsPossible() {
		return errors.Join(err, ErrNumber)
	}
	if err := r.setSums(&row.accumulator, &f.sumsForm); err != nil {
		return err
	}
	if f.Other == nil {
		row.direction = copyDirection(f.Name)
	}
	return errors.Join(r.holdRow(f.Other), r.operations[side].Put([]byte(f.Name), row, f.Other))
}

func (r lineReader) addGroup(f *groupForm) error {
	side, err := sideNamed(f.Side)
	if err != nil {
		return err
	}
	row := groupRow{}
	if err := r.setSums(&row.accumulator, &f.sumsForm); err != nil {
		return err
	}
	var text []byte
	if f.Other == nil {
		if text, err = key.AppendValues(nil, r.opts.By, f.Values); err != nil {
			return err
		}
		row.values = key.Cut(string(text), r.opts.By)
	}
	return errors.Join(r.holdRow(f.Other), r.groups[side].Put(text, row, f.Other))
}

func sideNamed(name string) (int, error) {
	for side := range 2 {
		if name == op.Side(side).String() {
			return side, nil
		}
	}
	return 0, ErrText
}

func (r lineReader) addTotals(f *totalsForm) error {
	p := r.Profile
	if p.told {
		return ErrTwice
	}
	p.told = true
	if !wide.IsCount(f.Weighted, wide.MaxCount) || !wide.IsCount(f.Hotspots, wide.MaxCount) || f.PeakMemoryBytes < 0 ||
		f.First.Known != f.Last.Known || min(f.Rules.Attribute, f.Rules.Library, f.Rules.Name) < 0 ||
		max(f.Rules.Attribute, f.Rules.Library, f.Rules.Name) > wide.MaxCount {
		return ErrNumber
	}
	p.totals, p.hotCount = f.totals, f.Hotspots
	for _, c := range f.Copies {
		i := slices.Index(directionNames[:], c.Direction)
		if i < int(hostToDevice) || !wide.IsCount(c.Count, wide.MaxCount) ||
			!c.isPossible() || !wide.ArePossible(c.SumNS, c.TimedNS, c.TimedBytes) {
			return ErrNumber
		}
		p.copies[i] = c.copies
	}
	return nil
}

func (r lineReader) addDevice(f *deviceForm) error {
	if !wide.IsCount(f.Count, wide.MaxCount) || !f.isPossible() || !f.SumNS.IsPossible() || f.IsNone() && f.Service+f.Host != "" {
		return ErrNumber
	}
	return errors.Join(r.holdRow(f.Other), r.devices.Put(f.AppendTo(nil), deviceRow{key: f.Key, deviceSums: f.deviceSums}, f.Other))
}

// setSums sets an accumulator, which is empty.
func (r lineReader) setSums(a *accumulator, f *sumsForm) error {
	if f.Count < 1 || !wide.IsCount(f.Count, wide.MaxCount) || !wide.IsCount(f.Errors, f.Count) || f.MinNS < 0 || f.MinNS > f.MaxNS ||
		!f.isPossible() || !wide.ArePossible(f.SumNS, f.Squares, f.Elements, f.FLOPs) {
		return ErrNumber
	}
	if !wide.Possible(f.SumNS, f.Squares, f.Count) {
		return ErrNumber
	}
	a.sums = f.sums
	var err error
	if a.durations, err = sketch.Of(f.Durations, f.Bins); err != nil {
		return err
	}
	if a.durations.Count() > f.Count {
		return ErrNumber
	}
	if err := r.hold(a.durations.Bytes()); err != nil {
		return HoldError{err}
	}
	for _, name := range f.Kinds {
		k, ok := op.ParseKind(name)
		if !ok && name != "" {
			return fmt.Errorf("kind %q: %w", name, ErrText)
		}
		a.kinds |= 1 << k
	}
	if a.kinds == 0 {
		return fmt.Errorf("there is no kind: %w", ErrText)
	}
	if f.Exemplar != nil {
		a.slowest = Exemplar{f.Exemplar.TraceID, f.Exemplar.SpanID}
	}
	if f.Work != nil && !f.Work.IsPossible() {
		return ErrNumber
	}
	a.weighted, a.work = f.Weighted, f.Work
	return a.variety.set(f)
}

func (v *variety) set(f *sumsForm) error {
	v.inputs, v.output, v.dtype, v.dtypes = f.InputShapes, f.OutputShape, f.DType, f.InputDTypes
	flags := v.flags()
	for _, name := range f.Mixes {
		i := slices.Index(varietyNames[:], name)
		if i < 0 {
			return fmt.Errorf("mixes %q: %w", name, ErrText)
		}
		*flags[i] = true
	}
	return nil
}
