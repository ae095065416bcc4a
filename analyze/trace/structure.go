package trace

import (
	"iter"
	"slices"

	"github.com/optrace/optrace/analyze/device"
)

// Tree holds the parents and children of rows, in 12 bytes per row.
type Tree struct {
	Parent []int32 // NoRow for roots and duplicates
	// The children of row r are kids[First[r]:First[r+1]], last to end first.
	First []int32
	kids  []int32
	// Roots lists the rows without a parent, grouped by trace, last to end first within a trace.
	Roots []int32
	// Originals is the first row with the same ids for each duplicate; nil without duplicates.
	Originals []int32
	// Cut lists the rows at which cycles of parents were cut.
	Cut      []int32
	stampRow []int32             // the row of each stamp's root, NoRow if not read
	target   []int32             // the row of each link's target, NoRow if not read
	launcher []int32             // the row of the operator that launched each row; nil without operators
	graphs   map[graphKey]string // holds the names of CUDA graphs; nil without graphs
}

// graphKey identifies a CUDA graph by its number in Names.Graphs, and without an ID also by the context of its
// launches.
type graphKey struct {
	graph  int32
	around string
}

// Children returns the rows directly below r, last to end first.
func (t *Tree) Children(r int32) []int32 { return t.kids[t.First[r]:t.First[r+1]] }

// TopDown yields the rows of the tree in depth-first order, each after its parent. Duplicates are omitted.
func (t *Tree) TopDown() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		var pending []int32
		for _, root := range t.Roots {
			pending = append(pending, root)
			for len(pending) > 0 {
				r := pending[len(pending)-1]
				pending = append(pending[:len(pending)-1], t.Children(r)...)
				if !yield(r) {
					return
				}
			}
		}
	}
}

// Devices holds the rows of each device, in eight bytes per row.
type Devices struct {
	// Keys lists the devices by number. Lanes and Streams map each lane to the number of its device and stream.
	// A stream is the same for all services.
	Keys    []device.Key
	Lanes   []int32
	Streams []int32
	// Shared holds the device names distinguished by service or host.
	Shared device.Shared
	// FirstStart and LastEnd bound the times of all rows, if there are any.
	FirstStart, LastEnd int64
	// ByStart lists the rows of all devices by start. The rows of device d are Rows[first[d]:first[d+1]].
	ByStart []int32
	Rows    []int32
	first   []int32
	// Order lists the devices with rows, by rank and name.
	Order []int32
	// Ranks reports whether operations have different ranks.
	Ranks bool
}

// Of returns the rows of a device with a start, by start.
func (d *Devices) Of(device int32) []int32 {
	return d.Rows[d.first[device]:d.first[device+1]]
}

// NumStreams returns the number of streams.
func (d *Devices) NumStreams() int { return 1 + int(slices.Max(append(slices.Clone(d.Streams), 0))) }

// All yields the devices with started rows, by rank and name, and these rows by start.
func (d *Devices) All() iter.Seq2[device.Key, []int32] {
	return func(yield func(device.Key, []int32) bool) {
		for _, device := range d.Order {
			if rows := d.Of(device); len(rows) > 0 && !yield(d.Keys[device], rows) {
				return
			}
		}
	}
}

// NoExecution is the absence of an execution.
const NoExecution int32 = -1

// Executions holds the shared executions: spans working for requests outside their own tree, such as the steps of a
// batching engine. The zero value is empty.
type Executions struct {
	List []Execution
	// Of is the execution of each row: the nearest one at or above it, or else of the root that it names;
	// NoExecution for none. It is nil without executions.
	Of []int32
	// kids lists, for rows with linked executions, their children and these executions, last to end first.
	kids map[int32][]int32
	deep []bool // by execution, see IsDeep
}

// Execution is a span with links to spans of requests, including all below it.
type Execution struct {
	Row   int32
	Links int // to any span
	Led   int // links to a request
	// Requests lists the requests that it works for, in the order of the links, as numbered by [Forest.RequestOwners].
	Requests []int32
	// Weights has the weight of each request; nil unless every link has one.
	Weights []int64
	// Attention has the weights for attention; nil unless every link has one.
	Attention []int64
}

// ShareWithout returns the part of an execution's work that is for other requests than those left out, by weight or else
// equally. It returns 1 without requests.
func (x *Execution) ShareWithout(left map[int32]bool) float64 {
	all, others := 0.0, 0.0
	for k, r := range x.Requests {
		weight := 1.0
		if x.Weights != nil {
			weight = float64(x.Weights[k])
		}
		all += weight
		if !left[r] {
			others += weight
		}
	}
	if all <= others {
		return 1
	}
	return others / all
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
	// The weights are noWeight if not stated.
	weight, attention int64
}

const noWeight = -1

// linksOf returns the links of row r and the index of the first. links is sorted by row.
func linksOf(links []rowLink, r int32) (first int, list []rowLink) {
	compare := func(l rowLink, r int32) int { return int(l.row) - int(r) }
	first, _ = slices.BinarySearchFunc(links, r, compare)
	end, _ := slices.BinarySearchFunc(links, r+1, compare)
	return first, links[first:end]
}

// Collective is the collective stated by a device operation of kind collective.
type Collective struct {
	Row    int32
	Name   int32 // into Names.Collectives
	Number int64 // the sequence number, 0 where Inferred
	Start  int64 // as recorded, may be out of range
	Bytes  int64
	Ranks  int32 // of the group, 0 if not stated
	Peer   int32 // the rank on the other side, below 0 if not stated
	// Inferred means a missing sequence number. Started and Sized mean a known start and known bytes.
	Inferred, Started, Sized bool
}

// CollectiveName is the name and group of a collective.
type CollectiveName struct{ Name, Group string }

// CollectiveOf returns the index in list of the collective of row r. list is sorted by row.
func CollectiveOf(list []Collective, r int32) (i int, ok bool) {
	return slices.BinarySearchFunc(list, r, func(c Collective, r int32) int { return int(c.Row) - int(r) })
}
