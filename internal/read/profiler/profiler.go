// Package profiler has the common parts of readers of profilers' recordings (Kineto, Nsight Systems): the nesting of a
// thread's intervals, texts held once, and a fingerprint of a recording.
package profiler

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/op"
)

// Interval is a time span on a thread. Without a duration it is the instant of its start.
type Interval struct {
	Thread     uint32
	Start, End int64
}

// Intervals are the intervals of a table's N rows.
type Intervals struct {
	N          int
	At         func(i int32) Interval
	InnerFirst bool // set if the first of two intervals of equal time is the inner one
}

// Order returns the numbers of the intervals by thread and start, outer ones first.
func (s *Intervals) Order() []int32 {
	list := s.byThread()
	for start := 0; start < len(list); {
		thread := s.At(list[start]).Thread
		end := start + 1
		for end < len(list) && s.At(list[end]).Thread == thread {
			end++
		}
		slices.SortFunc(list[start:end], s.compare) // mostly in order already
		start = end
	}
	return list
}

func (s *Intervals) byThread() []int32 {
	var ends []int // of each thread in the list
	for i := range int32(s.N) {
		t := s.At(i).Thread
		for uint32(len(ends)) <= t {
			ends = append(ends, 0)
		}
		ends[t]++
	}
	sum := 0
	for t, count := range ends {
		ends[t] = sum
		sum += count
	}
	list := make([]int32, s.N)
	for i := range int32(s.N) {
		t := s.At(i).Thread
		list[ends[t]] = i
		ends[t]++
	}
	return list
}

func (s *Intervals) compare(i, j int32) int {
	a := s.At(i)
	b := s.At(j)
	order := cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	if order == 0 && s.InnerFirst {
		return cmp.Compare(j, i)
	}
	return cmp.Or(order, cmp.Compare(i, j))
}

// Nest has the neighbors of an interval, -1 if there is none. Parent is the innermost interval around it. Across is the
// last interval open at its start that ends within it.
type Nest struct{ Parent, Across int32 }

// maxOverlaps bounds the search for a parent among overlapping intervals, maxAcross the search among intervals that
// cross one another.
const (
	maxOverlaps = 64
	maxAcross   = 8
)

// Outside returns the next interval around the i-th that is open at a time within it, -1 if there is none. of returns the
// neighbors of an interval and its end.
func Outside(i int32, at int64, of func(i int32) (n Nest, end int64)) int32 {
	n, _ := of(i)
	c := n.Across
	for range maxAcross {
		if c < 0 || c == n.Parent {
			break
		}
		next, end := of(c)
		if end > at {
			return c
		}
		if c = next.Across; c < 0 {
			c = next.Parent
		}
	}
	return n.Parent
}

// Enclose calls nest with the neighbors of each interval, and around with the innermost interval open at the start of
// each of others, -1 if there is none. It returns the order of the intervals.
//
//	a |------------------|
//	b    |------|            parent a
//	c         |------|       parent a, across b
//	other       ^ c   ^ a
func (s *Intervals) Enclose(others *Intervals, nest func(i int32, n Nest), around func(i, in int32)) (order []int32) {
	order = s.Order()
	var open []int32 // outermost first, all of one thread
	isOpen := func(n int, thread uint32, at int64) bool {
		o := s.At(open[n])
		return o.Thread == thread && (o.End > at || o.Start == at)
	}
	stillOpen := func(thread uint32, at int64) {
		for len(open) > 0 && !isOpen(len(open)-1, thread, at) {
			open = open[:len(open)-1]
		}
		for len(open) > 1 && !isOpen(len(open)-2, thread, at) {
			open[len(open)-2] = open[len(open)-1]
			open = open[:len(open)-1]
		}
	}
	begin := func(i int32, it Interval) {
		stillOpen(it.Thread, it.Start)
		in := int32(-1)
		for n := len(open) - 1; n >= max(0, len(open)-maxOverlaps); n-- {
			if o := s.At(open[n]); it.End <= o.End && it.Start < o.End {
				in = open[n]
				break
			}
		}
		across := int32(-1)
		if len(open) > 0 && open[len(open)-1] != in {
			across = open[len(open)-1]
		}
		nest(i, Nest{Parent: in, Across: across})
		open = append(open, i)
	}
	rest := order
	for _, k := range others.Order() {
		at := others.At(k)
		for ; len(rest) > 0; rest = rest[1:] {
			it := s.At(rest[0])
			if it.Thread > at.Thread || it.Thread == at.Thread && it.Start > at.Start {
				break
			}
			begin(rest[0], it)
		}
		in := int32(-1)
		if stillOpen(at.Thread, at.Start); len(open) > 0 {
			in = open[len(open)-1]
		}
		around(k, in)
	}
	for _, i := range rest {
		begin(i, s.At(i))
	}
	return order
}

// Fingerprint folds a sequence of numbers into one.
type Fingerprint uint64

// Add adds two numbers.
func (f *Fingerprint) Add(a, b uint64) {
	hi, lo := bits.Mul64(uint64(*f)^a^0x9e3779b97f4a7c15, b^0xd1342543de82ef95)
	*f = Fingerprint(bits.RotateLeft64(uint64(*f), 23) ^ hi ^ lo)
}

// Symbols numbers distinct texts. Number 0 is "".
type Symbols struct {
	index  map[string]uint32
	texts  []string
	bytes  int64
	recent [1 << recentBits]uint32 // a direct-mapped cache in front of the index
}

const recentBits = 12

const symbolBytes = 56 // the memory of a text beside its bytes: its headers and its share of slack

// Bytes returns the memory of the texts.
func (s *Symbols) Bytes() int64 { return s.bytes }

// Texts returns the texts by their numbers.
func (s *Symbols) Texts() []string { return s.texts }

// Add returns the number of a text.
func (s *Symbols) Add(text []byte) uint32 {
	if len(text) == 0 {
		return 0
	}
	slot := &s.recent[intern.Hash(text)>>(64-recentBits)]
	if n := *slot; n != 0 && s.texts[n] == string(text) {
		return n
	}
	n, ok := s.index[string(text)] // does not allocate
	if !ok {
		n = s.addNew(string(text))
	}
	*slot = n
	return n
}

func (s *Symbols) addNew(text string) uint32 {
	if s.index == nil {
		s.index = make(map[string]uint32)
		s.texts = make([]string, 1)
	}
	n := uint32(len(s.texts))
	s.index[text] = n
	s.texts = append(s.texts, text)
	s.bytes += int64(len(text)) + symbolBytes
	return n
}

// Text returns the text of a number.
func (s *Symbols) Text(n uint32) string {
	if n == 0 {
		return ""
	}
	return s.texts[n]
}

// SpanID returns the id of the i-th operation, zero for -1.
func SpanID(i int) (id op.SpanID) {
	binary.BigEndian.PutUint64(id[:], uint64(i+1))
	return id
}
