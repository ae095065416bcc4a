package profile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/optrace/optrace/analyze/internal/heap"
	"github.com/optrace/optrace/internal/opfile"
	"github.com/optrace/optrace/op"
)

// position is a place in the input: a part of it, and the place of an entry
// within the part.
type position struct{ part, n int64 }

func (p position) compare(o position) int {
	return cmp.Or(cmp.Compare(p.part, o.part), cmp.Compare(p.n, o.n))
}

func (p position) before(o position) bool { return p.part < o.part || p.part == o.part && p.n < o.n }

// placedEntry is an entry that is kept, and where it stood.
type placedEntry struct {
	entry *op.Entry
	at    position
}

// recordID identifies a record: another one with the same ids and times repeats
// it.
type recordID struct {
	trace    op.TraceID
	span     op.SpanID
	start    op.Int
	duration int64
}

// recordOf returns the identity of e; ok is false where e has no ids.
func recordOf(e *op.Entry) (id recordID, ok bool) {
	id = recordID{e.TraceID, e.SpanID, e.Start, e.Duration}
	return id, !e.TraceID.IsZero() && !e.SpanID.IsZero()
}

// topEntries keeps copies of the first entries in some order of preference, and
// of each record the first one alone.
type topEntries struct {
	limit   int
	compare func(a, b placedEntry) int
	kept    heap.Heap[placedEntry] // the last in preference on top
	ids     map[recordID]position  // of the entries kept
	// shortest and last are the duration and the place of the top of a full heap:
	// most entries are rejected by these, without a call.
	shortest int64
	last     position
	bytes    int64 // that the entries kept take, about
}

// newTopEntries keeps up to limit entries; compare orders any two by preference.
func newTopEntries(limit int, compare func(a, b placedEntry) int) topEntries {
	return topEntries{
		limit:    limit,
		compare:  compare,
		kept:     heap.Heap[placedEntry]{Less: func(a, b placedEntry) bool { return compare(a, b) < 0 }},
		shortest: math.MinInt64,
		last:     position{part: math.MaxInt64, n: math.MaxInt64},
	}
}

// slower prefers the longer duration and then the earlier place.
func slower(a, b placedEntry) int {
	return cmp.Or(cmp.Compare(b.entry.Duration, a.entry.Duration), a.at.compare(b.at))
}

// earlier prefers the earlier place.
func earlier(a, b placedEntry) int { return a.at.compare(b.at) }

// offer keeps a copy of e, or of what whole reads unless that is nil, if e is among the
// first.
func (t *topEntries) offer(e *op.Entry, whole op.WholeReader, at position) {
	candidate := placedEntry{e, at}
	if !t.isAmongFirst(candidate) {
		return
	}
	if whole != nil {
		candidate.entry = whole.ReadWhole()
	}
	if t.repeatsEarlier(candidate) {
		return
	}
	candidate.entry = candidate.entry.Clone()
	candidate.entry.Host = ""                                         // which the JSON form of an entry lacks
	if rec := (op.Record{Entry: candidate.entry}); LongRecord(&rec) { // as whole read it
		CutTexts(&rec)
		candidate.entry = rec.Entry
	}
	t.keep(candidate)
}

// isAmongFirst reports whether c comes before the last entry in preference, or there
// is room for more.
func (t *topEntries) isAmongFirst(c placedEntry) bool {
	return len(t.kept.Items) < t.limit || t.limit > 0 && t.kept.Less(c, t.kept.Top())
}

// repeatsEarlier reports whether c repeats an entry that is kept and stood before it.
func (t *topEntries) repeatsEarlier(c placedEntry) bool {
	id, _ := recordOf(c.entry)
	at, repeats := t.ids[id]
	return repeats && !c.at.before(at)
}

// keep keeps c, which is among the first, in place of the entry that it repeats or, where
// there is no more room, of the last one.
func (t *topEntries) keep(c placedEntry) {
	id, ok := recordOf(c.entry)
	_, repeats := t.ids[id]
	t.bytes += entryBytes(c.entry)
	switch {
	case repeats:
		i := slices.IndexFunc(t.kept.Items, func(k placedEntry) bool { return k.repeats(id) })
		t.bytes -= entryBytes(t.kept.Items[i].entry)
		t.kept.Lower(i, c)
	case len(t.kept.Items) < t.limit:
		t.kept.Push(c)
	default:
		last, _ := recordOf(t.kept.Top().entry)
		delete(t.ids, last)
		t.bytes -= entryBytes(t.kept.Top().entry)
		t.kept.ReplaceTop(c)
	}
	if ok {
		if t.ids == nil {
			t.ids = make(map[recordID]position)
		}
		t.ids[id] = c.at
	}
	if len(t.kept.Items) == t.limit {
		t.shortest, t.last = t.kept.Top().entry.Duration, t.kept.Top().at
	}
}

// AddListed adds the entry of a line that has one, see AddLine.
func (p *Profile) AddListed(l *Line, e *op.Entry) error {
	t := &p.slowest
	if l.Hotspot != nil {
		t = &p.hotspots
	}
	if len(t.kept.Items) >= t.limit {
		return fmt.Errorf("there are more than %d entries of a list", t.limit)
	}
	p.at.n++
	if c := (placedEntry{e.Clone(), p.at}); !t.repeatsEarlier(c) {
		t.keep(c)
	}
	return nil
}

func (c *placedEntry) repeats(id recordID) bool {
	own, ok := recordOf(c.entry)
	return ok && own == id
}

// merge keeps those of o's entries that are among the first. Their places are
// moved by shift. All are kept again in the order of preference, so that none
// replaces another.
func (t *topEntries) merge(o *topEntries, shift int64) {
	all := slices.Clone(t.kept.Items)
	for _, c := range o.kept.Items {
		c.at.n += shift
		all = append(all, c)
	}
	slices.SortFunc(all, t.compare)
	t.kept.Items, t.ids, t.bytes = nil, nil, 0
	for _, c := range all {
		if t.isAmongFirst(c) && !t.repeatsEarlier(c) {
			t.keep(c)
		}
	}
}

// sorted returns the entries in the order of preference.
func (t *topEntries) sorted() []placedEntry {
	return slices.SortedFunc(slices.Values(t.kept.Items), t.compare)
}

// list returns the entries in the order of preference, never nil.
func (t *topEntries) list() []*op.Entry {
	sorted := t.sorted()
	entries := make([]*op.Entry, len(sorted))
	for i, c := range sorted {
		entries[i] = c.entry
		if e := c.entry; opfile.IsLocal(e.TraceID) { // these ids cannot be looked up
			entries[i] = e.Clone()
			entries[i].TraceID, entries[i].SpanID, entries[i].ParentSpanID = op.TraceID{}, op.SpanID{}, op.SpanID{}
		}
	}
	return entries
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
