package profile

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/op"
)

// position is the place of an entry in the input: its part and its number within the part.
type position struct{ part, n int64 }

func (p position) compare(o position) int {
	return cmp.Or(cmp.Compare(p.part, o.part), cmp.Compare(p.n, o.n))
}

// before is a fast compare(o) < 0.
func (p position) before(o position) bool { return p.part < o.part || p.part == o.part && p.n < o.n }

type placedEntry struct {
	entry *op.Entry
	at    position
}

// recordID identifies a record. Another record with the same ids and times repeats it.
type recordID struct {
	trace    op.TraceID
	span     op.SpanID
	start    op.Int
	duration int64
}

// topEntries keeps copies of the first entries in an order of preference, without repeats.
type topEntries struct {
	limit   int
	compare func(a, b placedEntry) int
	// kept has the first entries and others. It grows to twice its limit before it is cut.
	kept []placedEntry
	// shortest and last are the duration and place of the last entry after a cut. Most entries are rejected by them
	// without a call.
	shortest int64
	last     position
	bytes    int64 // approximate memory of kept
}

func newTopEntries(limit int, compare func(a, b placedEntry) int) topEntries {
	return topEntries{
		limit:    limit,
		compare:  compare,
		shortest: math.MinInt64,
		last:     position{part: math.MaxInt64, n: math.MaxInt64},
	}
}

func slower(a, b placedEntry) int {
	return cmp.Or(cmp.Compare(b.entry.Duration, a.entry.Duration), a.at.compare(b.at))
}

func earlier(a, b placedEntry) int { return a.at.compare(b.at) }

// offer keeps a copy of e if it may be among the first entries.
func (t *topEntries) offer(e *op.Entry, at position) {
	if t.limit == 0 || e.Duration == t.shortest && !at.before(t.last) {
		return
	}
	e = e.Clone()
	e.Host = "" // not in the JSON form of entries
	if rec := (op.Record{Entry: e}); LongRecord(&rec) {
		CutTexts(&rec)
		e = rec.Entry
	}
	t.keep(placedEntry{e, at})
	if len(t.kept) > 2*t.limit+64 {
		t.sorted()
	}
}

func (t *topEntries) keep(c placedEntry) {
	t.kept = append(t.kept, c)
	t.bytes += int64(int(unsafe.Sizeof(*c.entry)) + len(c.entry.AppendJSON(nil)))
}

// sorted sorts the entries, removes repeats and entries beyond the limit, and returns the rest.
func (t *topEntries) sorted() []placedEntry {
	slices.SortStableFunc(t.kept, t.compare)
	all := t.kept
	seen := make(map[recordID]struct{})
	t.kept = nil
	t.bytes = 0
	for _, c := range all {
		e := c.entry
		id := recordID{e.TraceID, e.SpanID, e.Start, e.Duration}
		if _, repeats := seen[id]; repeats || len(t.kept) == t.limit {
			continue
		}
		if !e.TraceID.IsZero() && !e.SpanID.IsZero() {
			seen[id] = struct{}{}
		}
		t.keep(c)
	}
	if n := len(t.kept); n > 0 && n == t.limit {
		t.shortest = t.kept[n-1].entry.Duration
		t.last = t.kept[n-1].at
	}
	return t.kept
}

// merge adds the entries of o with places moved by shift.
func (t *topEntries) merge(o *topEntries, shift int64) {
	for _, c := range o.kept {
		c.at.n += shift
		t.keep(c)
	}
	t.sorted()
}

// list returns the entries in order of preference, never nil.
func (t *topEntries) list() []*op.Entry {
	sorted := t.sorted()
	entries := make([]*op.Entry, len(sorted))
	for i, c := range sorted {
		entries[i] = c.entry
		if e := c.entry; opfile.IsLocal(e.TraceID) { // ids of local traces are useless
			entries[i] = e.Clone()
			entries[i].TraceID = op.TraceID{}
			entries[i].SpanID = op.SpanID{}
			entries[i].ParentSpanID = op.SpanID{}
		}
	}
	return entries
}
