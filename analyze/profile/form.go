package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
	_ "github.com/optrace/optrace/op/entries" // reads the entries of lines
)

// Errors of partial results.
var (
	ErrNumber = errors.New("a number is negative, too large, or does not fit the others")
	ErrText   = errors.New("a text is not one of the allowed values")
)

// Decode decodes a part of partial results and calls f with it. Unknown members are errors because they may belong to
// sums.
func Decode[T any](text []byte, f func(*T) error) error {
	var part T
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&part); err != nil {
		return err
	}
	return f(&part)
}

type totalsLine struct {
	totals
	Copies   []copyLine `json:"copies,omitempty"`
	Hotspots int64      `json:"hotspot_count"`
}

type copyLine struct {
	Direction string `json:"direction"`
	copies
}

// rowLine is the part of an operation's or group's line outside its row. Other marks the row beyond the limit.
type rowLine struct {
	Side  string       `json:"side,omitempty"`
	Other *table.Other `json:"other,omitempty"`
	sketch.Form
}

type operationLine struct {
	operationRow
	rowLine
}

type groupLine struct {
	groupRow
	rowLine
}

type deviceLine struct {
	Other *table.Other `json:"other,omitempty"`
	deviceRow
}

// openOf is the name of the process in a line of open entries.
const openOf = "of"

// EachLine calls f with the name and JSON value of each line of p. Lines of a table are consecutive, with the row
// beyond the limit last.
func (p *Profile) EachLine(f func(name string, line any)) {
	type listed struct {
		placedEntry
		line func(name string, line any)
	}
	lines := map[string][]listed{}
	lists := []string{"slowest", "hotspot"}
	add := func(of *Profile, line func(name string, line any)) {
		of.eachSum(line)
		for _, name := range lists {
			for _, e := range of.listOf(name).sorted() {
				lines[name] = append(lines[name], listed{e, line})
			}
		}
	}
	add(p, f)
	for _, k := range p.openKeys() {
		add(p.open[k], func(name string, line any) { f("open", map[string]any{openOf: k, name: line}) })
	}
	for _, name := range lists {
		slices.SortStableFunc(lines[name], func(a, b listed) int {
			return p.listOf(name).compare(a.placedEntry, b.placedEntry)
		})
		for _, e := range lines[name] {
			e.line(name, e.entry)
		}
	}
}

// eachSum calls f with the lines of sums.
func (p *Profile) eachSum(f func(name string, line any)) {
	all := totalsLine{totals: p.totals, Hotspots: p.hotCount}
	for d, c := range p.copies {
		if c.Count > 0 {
			all.Copies = append(all.Copies, copyLine{directions[d], c})
		}
	}
	f("totals", &all)
	for side := range p.operations {
		name := op.Side(side).String()
		p.operations[side].Each(func(_ string, row *operationRow, other *table.Other) {
			f("operation", &operationLine{*row, rowLine{name, other, row.durations.Form()}})
		})
		p.groups[side].Each(func(_ string, row *groupRow, other *table.Other) {
			f("group", &groupLine{*row, rowLine{name, other, row.durations.Form()}})
		})
	}
	p.devices.Each(func(_ string, row *deviceRow, other *table.Other) { f("device", &deviceLine{other, *row}) })
	p.errors.rows.Each(func(_ string, row *Error, other *table.Other) { f("error", &errorLine{*row, other}) })
}

func (p *Profile) listOf(name string) *topEntries {
	if name == "slowest" {
		return &p.slowest
	}
	return &p.hotspots
}

// AddLine adds a line from EachLine to p, which must contain only such lines, in order. It returns an error for invalid
// lines. Without Options.By it ignores groups.
func (p *Profile) AddLine(name string, text []byte) error {
	switch name {
	case "totals":
		return Decode(text, p.addTotals)
	case "operation":
		return Decode(text, p.addOperation)
	case "group":
		if len(p.opts.By) == 0 {
			return nil
		}
		return Decode(text, p.addGroup)
	case "device":
		return Decode(text, p.addDevice)
	case "error":
		return Decode(text, p.addErrorLine)
	case "slowest", "hotspot":
		return p.addListed(p.listOf(name), text)
	case "open":
		return Decode(text, p.addOpen)
	}
	return fmt.Errorf("unknown part %.100q", name)
}

func (p *Profile) addTotals(l *totalsLine) error {
	r := &l.Rules
	areCounts := wide.AreCounts(l.Weighted, l.Hotspots, r.Attribute, r.Library, r.Name)
	if !areCounts || l.PeakMemoryBytes < 0 || l.First.Known != l.Last.Known {
		return ErrNumber
	}
	p.totals = l.totals
	p.hotCount = l.Hotspots
	for _, c := range l.Copies {
		i := slices.Index(directions[:], c.Direction)
		if i < 1 || !wide.AreCounts(c.Count, c.MemoryCount) {
			return ErrNumber
		}
		p.copies[i] = c.copies
	}
	return nil
}

func (p *Profile) addOperation(l *operationLine) error {
	side, err := p.complete(&l.accumulator, &l.rowLine)
	if err != nil {
		return err
	}
	if !wide.AreCounts(l.Communications) {
		return ErrNumber
	}
	if l.Other == nil {
		l.direction = copyDirection(l.Name)
	}
	return p.operations[side].Put([]byte(l.Name), l.operationRow, l.Other)
}

func (p *Profile) addGroup(l *groupLine) error {
	side, err := p.complete(&l.accumulator, &l.rowLine)
	if err != nil {
		return err
	}
	var of []byte
	if l.Other == nil {
		if of, err = key.AppendValues(nil, p.opts.By, l.Values); err != nil {
			return err
		}
		l.Values = key.Decode(string(of), p.opts.By)
	}
	return p.groups[side].Put(of, l.groupRow, l.Other)
}

func (p *Profile) addDevice(l *deviceLine) error {
	if !wide.AreCounts(l.Count, l.MemoryCount) || l.IsNone() && l.Service+l.Host != "" {
		return ErrNumber
	}
	return p.devices.Put(l.AppendTo(nil), l.deviceRow, l.Other)
}

// complete validates the row of a line, restores its durations, and returns the side.
func (p *Profile) complete(a *accumulator, l *rowLine) (side int, err error) {
	var of op.Side
	if of.SetName(l.Side) != 0 {
		return 0, fmt.Errorf("side %.100q: %w", l.Side, ErrText)
	}
	if a.Count < 1 || !wide.AreCounts(a.Count, a.MemoryCount) || a.Errors < 0 || a.Errors > a.Count ||
		a.MinNS < 0 || a.MinNS > a.MaxNS || !wide.Possible(a.SumNS, a.Squares, a.Count) ||
		a.Work != nil && !a.Work.IsPossible() {
		return 0, ErrNumber
	}
	if a.Kinds == 0 || a.Kinds >= mixesInputs || a.Mixes%mixesInputs != 0 {
		return 0, fmt.Errorf("kinds or mixes: %w", ErrText)
	}
	if a.durations, err = sketch.Of(l.Form); err != nil {
		return 0, err
	}
	if a.durations.Count() > a.Count {
		return 0, ErrNumber
	}
	p.bins += a.durations.Bytes()
	return SideIndex(of), nil
}

func (p *Profile) addOpen(l *map[string]json.RawMessage) error {
	var k openKey
	if text, known := (*l)[openOf]; known {
		if err := json.Unmarshal(text, &k); err != nil {
			return err
		}
	}
	open := p.opened(k)
	for name, line := range *l {
		if name == "open" {
			return ErrText
		}
		if name == openOf {
			continue
		}
		if err := open.AddLine(name, line); err != nil {
			return err
		}
		p.at = open.at
	}
	return nil
}

func (p *Profile) addListed(list *topEntries, text []byte) error {
	e := new(op.Entry)
	if err := e.UnmarshalJSON(text); err != nil {
		return err
	}
	p.at.n++
	list.keep(placedEntry{e, p.at})
	return nil
}
