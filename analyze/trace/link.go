package trace

import (
	"iter"
	"slices"

	"github.com/optrace/optrace/op"
)

// rowLink is a link from a row to a span.
type rowLink struct {
	row    int32
	trace  int32 // into dictionary.traces
	span   uint64
	weight int64 // noWeight where the link states none
}

const noWeight = -1

// addLinks adds the links of the row that was added last.
func (f *Forest) addLinks(links []op.Link) {
	for i := range links {
		l := &links[i]
		weight := int64(noWeight)
		if l.Weight.Known {
			weight = max(0, l.Weight.V)
		}
		f.links = append(f.links, rowLink{
			row: f.Rows() - 1, trace: f.Names.Traces.ID(l.TraceID), span: SpanNumber(l.SpanID), weight: weight,
		})
	}
}

// linksByTrace returns the indexes of the links that lead to spans of each trace.
func (f *Forest) linksByTrace() map[int32][]int32 {
	if len(f.links) == 0 {
		return nil
	}
	byTrace := make(map[int32][]int32)
	for i := range f.links {
		trace := f.links[i].trace
		byTrace[trace] = append(byTrace[trace], int32(i))
	}
	return byTrace
}

// linksOf returns the first of the links of row r and those behind them; the links
// are in the order of their rows.
func linksOf(links []rowLink, r int32) (first int, list []rowLink) {
	compare := func(l rowLink, r int32) int { return int(l.row) - int(r) }
	first, _ = slices.BinarySearchFunc(links, r, compare)
	end, _ := slices.BinarySearchFunc(links, r+1, compare)
	return first, links[first:end]
}

// Launch returns when the host handed the operation to its device, in Unix
// nanoseconds.
func (n Node) Launch() op.Int {
	if !n.has(FlagLaunch) {
		return op.Int{}
	}
	return op.Known(n.Forest.Launch(n.Row))
}

// Links returns the operations and spans that the links of n lead to, as far as they
// are in the input.
func (n Node) Links() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		if n.IsZero() {
			return
		}
		f := n.Forest
		f.Build()
		first, links := linksOf(f.links, n.Row)
		for i := range links {
			if to := f.Tree.target[first+i]; to != NoRow && !yield(f.Node(to)) {
				return
			}
		}
	}
}
