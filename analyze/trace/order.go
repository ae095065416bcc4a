package trace

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/optrace/optrace/op"
)

// CompareStart orders rows by start and then by end. Those of the same times are ordered as
// all analyses order them, by what they are and not by their place in the input, so that a file
// that was converted has the same figures: first the one nearer to the root of its tree (of more
// than 64 levels the 64th counts), then by trace id, by span id, and by name. What is equal in all
// that is in the order of the input.
func (f *Forest) CompareStart(x, y int32) int {
	if d := cmp.Compare(f.Start(x), f.Start(y)); d != 0 {
		return d
	}
	if d := cmp.Compare(f.Duration(x), f.Duration(y)); d != 0 {
		return d
	}
	return f.compareTied(x, y)
}

// CompareEnd orders rows by end, the last first, then the longest first, then as CompareStart
// orders those of the same times. Rows without a start come last.
func (f *Forest) CompareEnd(x, y int32) int {
	if d := int(f.Flags(y)&FlagStart) - int(f.Flags(x)&FlagStart); d != 0 {
		return d
	}
	if d := cmp.Compare(f.End(y), f.End(x)); d != 0 {
		return d
	}
	if d := cmp.Compare(f.Duration(y), f.Duration(x)); d != 0 {
		return d
	}
	return f.compareTied(x, y)
}

// compareTied orders rows of the same times. It is used from when parents are known.
func (f *Forest) compareTied(x, y int32) int {
	if d := f.compareDepth(x, y); d != 0 {
		return d
	}
	tx, ty := f.tieTrace(x), f.tieTrace(y)
	if d := bytes.Compare(tx[:], ty[:]); d != 0 {
		return d
	}
	if d := cmp.Compare(f.Span(x), f.Span(y)); d != 0 && !tx.IsZero() {
		return d
	}
	if d := strings.Compare(f.RowName(x), f.RowName(y)); d != 0 {
		return d
	}
	return int(x) - int(y)
}

// tieTrace returns the trace id of a row that has one which files keep.
func (f *Forest) tieTrace(r int32) op.TraceID { return f.Node(r).TraceID() }

// compareDepth orders rows by how many are above them, up to maxAbove.
func (f *Forest) compareDepth(x, y int32) int {
	parent := f.Tree.Parent
	for range maxAbove {
		x, y = parent[x], parent[y]
		if x == y {
			return 0
		}
		if x == NoRow {
			return -1
		}
		if y == NoRow {
			return 1
		}
	}
	return 0
}
