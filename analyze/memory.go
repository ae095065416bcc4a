package analyze

import (
	"unicode/utf8"
	"unsafe"

	"github.com/optrace/optrace/analyze/internal/packed"
	"github.com/optrace/optrace/op"
)

// holder is a Source that bounds the memory that is taken for it.
type holder interface {
	// Hold notes that so many bytes more are held, or less for a negative number. An error
	// ends the reading.
	Hold(bytes int64) error
}

// account tells a holder how much memory something takes. The zero value tells nobody.
type account struct {
	holder holder
	held   int64 // what holder knows of
}

func newAccount(src Source) account {
	h, _ := src.(holder)
	return account{holder: h}
}

// set notes that n bytes are held.
func (a *account) set(n int64) error {
	more := n - a.held
	if a.holder == nil || more == 0 {
		return nil
	}
	a.held = n
	return a.holder.Hold(more)
}

// builtBytes is about what a row takes once the tree and the orders of the rows are
// built, beside its columns.
const builtBytes = 24

// bytes returns about how much memory f takes, its tree included.
func (f *Forest) bytes() int64 {
	const factBytes = int64(packed.BlockRows * unsafe.Sizeof(rowFlag(0)))
	return f.values.Bytes() + int64(len(f.facts))*factBytes + int64(f.n)*builtBytes +
		int64(cap(f.links))*int64(unsafe.Sizeof(rowLink{})) + f.collected.entries.Bytes() + f.dict.bytes()
}

// Bytes returns about how much memory f takes, its tree included.
func (f *Forest) Bytes() int64 { return f.bytes() }

// bytes returns about how much memory d takes.
func (d *dictionary) bytes() int64 {
	t := &d.counted
	for _, s := range d.operations.Values[t.operations:] {
		t.texts += int64(len(s))
	}
	for _, s := range d.spans.Values[t.spans:] {
		t.texts += int64(len(s.name) + len(s.service))
	}
	for _, l := range d.lanes.Values[t.lanes:] {
		t.texts += int64(len(l.device.DeviceID) + len(l.device.Service) + len(l.device.Host) + len(l.service))
	}
	for _, s := range d.stamps.Values[t.stamps:] {
		t.texts += int64(len(s.name))
	}
	for _, s := range d.shapes.Values[t.shapes:] {
		t.texts += int64(len(s))
	}
	t.operations, t.spans, t.lanes = len(d.operations.Values), len(d.spans.Values), len(d.lanes.Values)
	t.stamps, t.shapes = len(d.stamps.Values), len(d.shapes.Values)
	return t.texts + d.traces.Bytes() + d.operations.Bytes() + d.spans.Bytes() + d.lanes.Bytes() + d.stamps.Bytes() +
		d.shapes.Bytes() + d.groups.Bytes() + d.varieties.Bytes()
}

// countedTexts is how many values of each kind have had their texts counted, and how long
// the texts are: texts that several values share count each time.
type countedTexts struct {
	operations, spans, lanes, stamps, shapes int
	texts                                    int64
}

// bytes returns about how much memory p takes, the bins of durations aside.
func (p *Profile) bytes() int64 {
	n := p.devices.Bytes()
	for side := range p.operations {
		n += p.operations[side].Bytes() + p.groups[side].Bytes()
	}
	return n + p.slowest.bytes + p.hotspots.bytes
}

// entryBytes returns about how much memory an entry takes.
func entryBytes(e *op.Entry) int64 {
	n := int(unsafe.Sizeof(*e)) + len(e.Operation) + len(e.DeviceID) + len(e.Root) + len(e.Service) +
		len(e.Links)*int(unsafe.Sizeof(op.Link{}))
	for _, a := range e.Attrs {
		n += int(unsafe.Sizeof(a)) + len(a.Key) + len(a.Value)
	}
	for _, s := range e.InputShapes {
		n += int(unsafe.Sizeof(s)) + len(s)*int(unsafe.Sizeof(int64(0)))
	}
	return int64(n)
}

// maxText is the longest name that figures are kept by, in bytes, as the exporter writes
// at most. A longer one is cut.
const maxText = 64 << 10

// longPerCheck is how many records with long texts there are between two looks at the
// memory: what follows from them may hold on to all of their text.
const longPerCheck = 4

// longRecord reports whether a record has a text longer than maxText among those that
// figures are kept by.
func longRecord(rec *op.Record) bool {
	switch {
	case rec.Entry != nil:
		e := rec.Entry
		return max(len(e.Operation), len(e.DeviceID), len(e.Root), len(e.Service), len(e.Host)) > maxText
	case rec.Span != nil:
		return max(len(rec.Span.Name), len(rec.Span.Service)) > maxText
	}
	return false
}

// cutMark ends a text that was cut.
const cutMark = "…"

// cutText returns the beginning of a text, in memory of its own, and a mark.
func cutText(s string) string {
	n := maxText - len(cutMark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + cutMark
}

// cutTexts cuts these texts of a record, which becomes another one: its reader may read
// the entry again.
func cutTexts(rec *op.Record) {
	cut := func(s *string) {
		if len(*s) > maxText {
			*s = cutText(*s)
		}
	}
	if rec.Entry != nil {
		e := *rec.Entry
		rec.Entry = &e
		for _, s := range []*string{&e.Operation, &e.DeviceID, &e.Root, &e.Service, &e.Host} {
			cut(s)
		}
	}
	if rec.Span != nil {
		s := *rec.Span
		rec.Span = &s
		cut(&s.Name)
		cut(&s.Service)
	}
}
