package analyze

import (
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/heap"
	"github.com/optrace/optrace/op"
)

// position is a place in the input: a part of it, and the place of an entry
// within the part.
type position struct{ part, n int64 }

func (p position) before(o position) bool {
	if p.part != o.part {
		return p.part < o.part
	}
	return p.n < o.n
}

// placedEntry is an entry that is kept, and where it stood.
type placedEntry struct {
	entry *op.Entry
	at    position
}

// topEntries keeps copies of the first entries in some order of preference.
type topEntries struct {
	limit int
	kept  heap.Heap[placedEntry] // the last in preference on top
	// shortest and last are the duration and the place of the top of a full heap:
	// most entries are rejected by these, without a call.
	shortest int64
	last     position
}

// newTopEntries keeps up to limit entries; behind reports whether a comes after b
// in preference, and must order any two entries.
func newTopEntries(limit int, behind func(a, b placedEntry) bool) topEntries {
	return topEntries{
		limit:    limit,
		kept:     heap.Heap[placedEntry]{Less: func(a, b placedEntry) bool { return behind(b, a) }},
		shortest: math.MinInt64,
		last:     position{part: math.MaxInt64, n: math.MaxInt64},
	}
}

// slower prefers the longer duration and then the earlier place.
func slower(a, b placedEntry) bool {
	if a.entry.Duration != b.entry.Duration {
		return a.entry.Duration < b.entry.Duration
	}
	return b.at.before(a.at)
}

// earlier prefers the earlier place.
func earlier(a, b placedEntry) bool { return b.at.before(a.at) }

// offer keeps a copy of e if it is among the first.
func (t *topEntries) offer(e *op.Entry, at position) {
	candidate := placedEntry{e, at}
	if t.admits(candidate) {
		candidate.entry = e.Clone()
		t.keep(candidate)
	}
}

func (t *topEntries) admits(c placedEntry) bool {
	return len(t.kept.Items) < t.limit || t.limit > 0 && t.kept.Less(c, t.kept.Top())
}

func (t *topEntries) keep(c placedEntry) {
	if len(t.kept.Items) < t.limit {
		t.kept.Push(c)
	} else {
		t.kept.ReplaceTop(c)
	}
	if len(t.kept.Items) == t.limit {
		t.shortest, t.last = t.kept.Top().entry.Duration, t.kept.Top().at
	}
}

// merge keeps those of o's entries that are among the first. Their places are
// moved by shift.
func (t *topEntries) merge(o *topEntries, shift int64) {
	for _, c := range o.kept.Items {
		c.at.n += shift
		if t.admits(c) {
			t.keep(c)
		}
	}
}

// list returns the entries in the order of preference, never nil.
func (t *topEntries) list() []*op.Entry {
	sorted := slices.Clone(t.kept.Items)
	slices.SortFunc(sorted, func(a, b placedEntry) int {
		switch {
		case t.kept.Less(a, b):
			return -1
		case t.kept.Less(b, a):
			return 1
		}
		return 0
	})
	entries := make([]*op.Entry, len(sorted))
	for i, c := range sorted {
		entries[i] = c.entry
	}
	return entries
}
