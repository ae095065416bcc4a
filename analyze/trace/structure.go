package trace

import (
	"iter"
	"slices"

	"github.com/optrace/optrace/analyze/device"
)

// Tree says which row is below which. Its slices take 12 bytes per row.
type Tree struct {
	Parent []int32 // NoRow for roots and duplicates
	// The children of row r are kids[First[r]:First[r+1]], the last to end first.
	First []int32
	kids  []int32
	// Roots holds the rows without a parent, grouped by trace, within one the
	// last to end first.
	Roots []int32
	// Originals has the row with the same ids for each duplicate; nil without any.
	Originals []int32
	// Cut holds the rows at which rings of parents were cut.
	Cut []int32
	// stampRow holds the row of each stamp's root, NoRow when it was not read.
	stampRow []int32
	// target holds the row that each link leads to, NoRow when it was not read.
	target []int32
	// launcher holds the row of the operator that launched each row; nil where nothing did.
	launcher []int32
	// graphs holds the names of CUDA graphs, nil where there is none.
	graphs map[graphKey]string
}

// graphKey tells CUDA graphs apart: by their place in Names.Graphs, and those without a number by what is around their launches.
type graphKey struct {
	graph  int32
	around string
}

// Children returns the rows directly below r, the last to end first.
func (t *Tree) Children(r int32) []int32 { return t.kids[t.First[r]:t.First[r+1]] }

// topDown returns the rows of the tree, each behind the one above it and in front
// of whatever does not lie below it. Duplicates are not among them.
func (t *Tree) topDown() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		pending := slices.Clone(t.Roots)
		slices.Reverse(pending)
		for len(pending) > 0 {
			r := pending[len(pending)-1]
			pending = append(pending[:len(pending)-1], t.Children(r)...)
			if !yield(r) {
				return
			}
		}
	}
}

// Devices lists the rows of each device, eight bytes per row.
type Devices struct {
	// Keys has the devices by number, Lanes the number of each lane's device, and
	// Streams that of its stream: a device's stream is one, whichever service uses it.
	Keys    []device.Key
	Lanes   []int32
	Streams []int32
	// Shared are the devices that are told apart by their services.
	Shared device.Shared
	// FirstStart and LastEnd are those of all rows, where there are any.
	FirstStart, LastEnd int64
	// ByStart has the rows of all devices, by start. Those of device d are Rows[first[d]:first[d+1]].
	ByStart []int32
	Rows    []int32
	first   []int32
	// Order lists the devices seen, by rank and name.
	Order []int32
	// Ranks reports whether there are operations of several ranks.
	Ranks bool
}

// Of returns the rows of device d that have a start, by start.
func (d *Devices) Of(device int32) []int32 {
	return d.Rows[d.first[device]:d.first[device+1]]
}

// All yields the devices that have rows with a start, by rank and name, and these rows, by start.
func (d *Devices) All() iter.Seq2[device.Key, []int32] {
	return func(yield func(device.Key, []int32) bool) {
		for _, device := range d.Order {
			if rows := d.Of(device); len(rows) > 0 && !yield(d.Keys[device], rows) {
				return
			}
		}
	}
}

// NoExecution stands for the absence of an execution.
const NoExecution int32 = -1

// Executions are the spans that work for requests that they do not lie below, such
// as the steps of a batching engine: shared executions. The zero value is none.
type Executions struct {
	List []Execution
	// Of has the number of the execution that each row belongs to, the nearest one
	// at or above it, or else that of the root that it names; NoExecution for none.
	// It is nil where there are no executions.
	Of []int32
	// kids has the nodes below a row for the rows that executions link to: the
	// children, and the executions as further ones, the last to end first.
	kids map[int32][]int32
	deep []bool // by execution, see IsDeep
}

// Execution is a span that links to spans of requests, with what lies below it.
type Execution struct {
	Row   int32
	Links int // to any span
	Led   int // how many of them lead to a request
	// Requests has the requests that it works for, as [Forest.RequestOwners] names
	// them, in the order of the links.
	Requests []int32
	// Weights has the weight of each request; nil where not every link has one.
	Weights []int64
	// Attention has the same of the weights for attention.
	Attention []int64
}

func addWeight(to *int64, weight int64) {
	if sum := *to + max(0, weight); sum >= 0 {
		*to = sum
	}
}

type rowLink struct {
	row   int32
	trace int32 // into Names.Traces
	span  uint64
	// The weights are noWeight where the link states none.
	weight, attention int64
}

const noWeight = -1

// linksOf returns the first of the links of row r and those behind them; the links
// are in the order of their rows.
func linksOf(links []rowLink, r int32) (first int, list []rowLink) {
	compare := func(l rowLink, r int32) int { return int(l.row) - int(r) }
	first, _ = slices.BinarySearchFunc(links, r, compare)
	end, _ := slices.BinarySearchFunc(links, r+1, compare)
	return first, links[first:end]
}
