package op

import (
	"bytes"

	"github.com/optrace/optrace/internal/jsontext"
)

// expectedLine reads the line that text starts with as one whose layout is the
// one that came next the last time. It returns the line's size with its newline,
// 0 where the line is another one, which is then read as usual.
//
// It spares the search for the newline and the state that a lexer keeps: two
// fifths of what such a line takes otherwise.
func (d *decoder) expectedLine(text []byte) (rec Record, size int) {
	y := &d.layouts
	found, first := y.known.Expected()
	if found == nil {
		return Record{}, 0
	}
	p := jsontext.Plain{Rest: text}
	step := Int{}
	if !p.Accept(quotedStep) {
		return Record{}, 0
	}
	if !p.Accept("null") {
		if step.V, step.Known = p.Digits(); !step.Known {
			return Record{}, 0
		}
	}
	if !bytes.HasPrefix(p.Rest, first) {
		return Record{}, 0
	}
	p.Rest = p.Rest[len(first):]
	for known := found; known != nil; known = known.next {
		behind := p
		d.entry = known.entry
		d.entry.Step = step
		d.has, d.fault = known.has, ""
		if d.plainValues(known.pieces[:known.count], &behind) && behind.Accept("\n") {
			y.known.Awake()
			y.known.Right()
			d.finishEntry()
			return Record{Entry: &d.entry}, len(text) - len(behind.Rest)
		}
	}
	return Record{}, 0
}

// quotedStep is what the lines that this package writes start with.
var quotedStep = `{"` + entryKeyNames[jsonStep] + `":`

// plainValues reads the values in front of the pieces, as they are usually
// written.
func (d *decoder) plainValues(pieces []piece, p *jsontext.Plain) bool {
	for i := range pieces {
		if !d.plainValue(pieces[i].key, p) || !p.Accept(pieces[i].text) {
			return false
		}
	}
	return true
}

// plainValue reads the value behind a key as entryField does, where it is written
// as usual and nothing is wrong with it.
func (d *decoder) plainValue(key entryKey, p *jsontext.Plain) (ok bool) {
	e := &d.entry
	switch key {
	case jsonDurationUS:
		var ns int64
		if ns, ok = p.Micros(); d.has&hasDurationNS == 0 {
			e.Duration = ns
		}
		d.has |= hasDuration
	case jsonDurationNS:
		e.Duration, ok = p.Digits()
		d.has |= hasDuration | hasDurationNS
	case jsonStartUnixNS:
		e.Start.V, ok = p.Digits()
		e.Start.Known = true
	case jsonLaunchUnixNS:
		e.Launch.V, ok = p.Digits()
		e.Launch.Known = true
	case jsonTraceID:
		if ok = d.lastTraceText != "" && p.Accept(d.lastTraceText); ok {
			e.TraceID = d.lastTrace
		}
	case jsonSpanID:
		ok = p.QuotedHex(e.SpanID[:]) && !e.SpanID.IsZero()
	case jsonParentSpanID:
		ok = p.QuotedHex(e.ParentSpanID[:])
	case jsonRootSpanID:
		ok = p.QuotedHex(e.RootSpanID[:])
	}
	return ok
}
