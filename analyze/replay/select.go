package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze/internal/pattern"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// selection is a set of rows and of calls.
type selection struct {
	rows  []bool
	calls map[int32]bool // by index
	count int64
}

// UnknownError is a selection that matches nothing.
type UnknownError struct {
	Select string
	// Names are those that could be meant: operations, or the keys of a selection KEY=VALUE.
	Names []string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("%q selects nothing", e.Select) }

// properties are the keys of a selection.
var properties = map[string]func(f *trace.Forest, r int32) string{
	"operation": (*trace.Forest).RowName,
	"operator":  (*trace.Forest).LauncherName,
	"service":   (*trace.Forest).Service,
	"kind":      func(f *trace.Forest, r int32) string { return f.Kind(r).String() },
	"device":    func(f *trace.Forest, r int32) string { return f.DeviceKey(r).DeviceID },
	"rank":      func(f *trace.Forest, r int32) string { return known(f.DeviceKey(r).Rank) },
	"stream":    func(f *trace.Forest, r int32) string { return known(f.Names.Lanes.Values[f.Lane(r)].Stream) },
	"step":      func(f *trace.Forest, r int32) string { return known(f.Node(r).Step()) },
	"phase":     func(f *trace.Forest, r int32) string { return f.Names.Marks.Values[f.Mark(r)].Phase },
}

func known(v op.Int) string {
	if !v.Known {
		return ""
	}
	return strconv.FormatInt(v.V, 10)
}

// find returns what text selects: the name of an operation, an operator, a span or a call, or KEY=VALUE,KEY=VALUE.
func (g *Graph) find(text string) (*selection, error) {
	f := g.forest
	s := &selection{rows: make([]bool, f.Len()), calls: make(map[int32]bool)}
	if matches := conditions(f, text); matches != nil {
		for r := range f.Rows() {
			s.add(r, g.begin[r] != none && f.Has(r, trace.FlagOp) && matches(r))
		}
		return s, s.check(text, nil)
	}
	operation := int32(slices.Index(f.Names.Operations.Values, text))
	spans := make([]bool, len(f.Names.Spans.Values))
	for i := range spans {
		spans[i] = f.Names.Spans.Values[i].Name == text
	}
	for r := range f.Rows() {
		isNamed := f.Name(r) == operation
		if !f.Has(r, trace.FlagOp) {
			isNamed = spans[f.Name(r)]
		}
		s.add(r, isNamed && g.begin[r] != none)
	}
	for i := range f.Calls {
		if f.Calls[i].Name == text {
			s.calls[int32(i)] = true
			s.count++
		}
	}
	onDevice := false
	for r := range f.Rows() {
		onDevice = onDevice || s.rows[r] && f.IsDeviceSide(r)
	}
	for r := range f.Rows() {
		s.add(r, !onDevice && g.begin[r] != none && f.IsDeviceSide(r) && f.LauncherName(r) == text)
	}
	return s, s.check(text, f)
}

// conditions returns the test of a text KEY=VALUE,KEY=VALUE, nil for another text.
func conditions(f *trace.Forest, text string) func(r int32) bool {
	var all []func(r int32) bool
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		of := properties[key]
		if !ok || of == nil {
			return nil
		}
		all = append(all, func(r int32) bool { return pattern.Matches(value, of(f, r)) })
	}
	return func(r int32) bool {
		return !slices.ContainsFunc(all, func(matches func(int32) bool) bool { return !matches(r) })
	}
}

func (s *selection) add(r int32, selected bool) {
	if selected && !s.rows[r] {
		s.rows[r] = true
		s.count++
	}
}

func (s *selection) check(text string, f *trace.Forest) error {
	if s.count > 0 {
		return nil
	}
	err := &UnknownError{Select: text}
	if f != nil {
		err.Names = append(slices.Clone(f.Names.Operations.Values), f.Names.Launchers.Values...)
		for i := range f.Calls {
			if name := f.Calls[i].Name; !slices.Contains(err.Names, name) {
				err.Names = append(err.Names, name)
			}
		}
	}
	return err
}

// has reports whether the owner of an edge is selected.
func (s *selection) has(owner int32) bool {
	if owner >= 0 {
		return s.rows[owner]
	}
	return owner != noOwner && s.calls[^owner]
}

// hasRow reports whether the owner of an edge is a selected row.
func (s *selection) hasRow(owner int32) bool { return owner >= 0 && s.rows[owner] }
