// Package captures gives the operations of replayed graphs the operators, modules and shapes that a trace of the capture
// of the graphs has. It never guesses: where several captures fit, it gives what they have in common.
package captures

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/kernelname"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// Index joins traces of captures with replays: [Index.Capture] takes all records of the captures and [Index.Serve] all
// operations of the replays. After [Index.Match], [Index.Apply] completes these operations, and may be called
// concurrently.
type Index struct {
	hosts    map[hostID]*op.Entry // operators during captures
	launches map[process][]launch
	nodes    map[graph]map[int64]node // of replays
	found    map[nodeID]*source
	Bytes    int64 // held, about
	Known    int64 // nodes of replays with an operator
	Nodes    int64
}

type (
	hostID struct {
		trace op.TraceID
		span  op.SpanID
	}
	process struct {
		rank   op.Int
		thread string
	}
	graph struct {
		rank op.Int
		id   string
	}
	nodeID struct {
		graph
		node int64
	}
)

// launch is a launch during a capture. name is that of its kernel, "" if unknown.
type launch struct {
	at        int64
	call      string
	kind      op.Kind
	name      string
	node      op.Int
	by        *source
	isOfGraph bool // not of a capture but of a graph
}

// node is an operation of a replay.
type node struct {
	kind op.Kind
	name string
}

// source is what a capture says of a node.
type source struct {
	operator, path string
	host           *op.Entry // nil if captures differ in shapes
	works          bool      // the kernel does the work of the operator, with share kernels in all
	share          int64
}

// New returns an empty index.
func New() *Index {
	return &Index{hosts: make(map[hostID]*op.Entry), launches: make(map[process][]launch),
		nodes: make(map[graph]map[int64]node), found: make(map[nodeID]*source)}
}

func attribute(e *op.Entry, key string) string {
	if a := opmodel.FindAttr(e.Attrs, key); a != nil {
		return a.Value
	}
	return ""
}

func numberOf(e *op.Entry) op.Int {
	n, err := strconv.ParseInt(attribute(e, attrkey.GraphNode), 10, 64)
	return op.Int{V: n, Known: err == nil}
}

// nodeOf returns the node of an operation of a replay. Without numbers, each replay is a graph with nodes by start.
func nodeOf(e *op.Entry) (id nodeID, ok bool) {
	n := numberOf(e)
	g := graph{e.Rank, attribute(e, attrkey.Graph)}
	if n.Known && g.id != "" {
		return nodeID{g, n.V}, e.Side != op.SideHost
	}
	g.id = "at " + strconv.FormatInt(e.Launch.V, 10)
	isReplay := attrkey.IsGraphLaunch(attribute(e, attrkey.LaunchCall)) && e.Launch.Known && e.Start.Known
	return nodeID{g, e.Start.V}, isReplay && e.Side != op.SideHost
}

func kindOf(kind op.Kind) op.Kind {
	if kind == op.KindMemory {
		return kind
	}
	return op.KindCompute
}

// Capture takes a record of the capture. Operators come before their launches.
func (x *Index) Capture(rec op.Record) {
	e := cmp.Or(rec.Entry, rec.Call)
	if e == nil {
		return
	}
	p := process{e.Rank, attribute(e, attrkey.Thread)}
	l := launch{at: e.Start.V, call: e.Operation}
	var host *op.Entry
	switch {
	case rec.Entry != nil && e.Side == op.SideHost:
		host = e.Clone()
		host.Attrs = nil
		x.hosts[hostID{e.TraceID, e.SpanID}] = host
		x.Bytes += 1 << 10
		return
	case rec.Entry != nil:
		host = x.hosts[hostID{e.TraceID, e.LaunchSpanID}]
		l.at = e.Launch.V
		l.kind = kindOf(e.Kind)
		l.call = attribute(e, attrkey.LaunchCall)
		l.name = e.Operation
		l.node = numberOf(e)
		l.isOfGraph = attrkey.IsGraphLaunch(l.call)
	case attrkey.IsLaunch(e.Operation):
		l.kind = op.KindCompute
	case isCopy(e.Operation):
		l.kind = op.KindMemory
	case !strings.Contains(e.Operation, "Capture"):
		return
	}
	if rec.Call != nil {
		host = x.hosts[hostID{e.TraceID, e.ParentSpanID}]
	}
	if host != nil {
		l.by = &source{operator: host.Operation, path: host.Path, host: host}
	}
	x.launches[p] = append(x.launches[p], l)
	x.Bytes += 1 << 8
}

func isCopy(call string) bool {
	return strings.Contains(call, "Memcpy") && !strings.Contains(call, "Node") || strings.Contains(call, "Memset")
}

// Serve takes an operation of the replays.
func (x *Index) Serve(e *op.Entry) {
	id, ok := nodeOf(e)
	if !ok {
		return
	}
	if x.nodes[id.graph] == nil {
		x.nodes[id.graph] = make(map[int64]node)
	}
	x.nodes[id.graph][id.node] = node{kindOf(e.Kind), e.Operation}
	x.Bytes += 1 << 6
}

// part is a capture, or launches of kernels that ran, of which a part may fit.
type part struct {
	list []launch
	rank op.Int
	ran  bool
}

// Match finds the operators of the nodes.
func (x *Index) Match() {
	var parts []part
	byNode := make(map[int64][]launch)
	for p, list := range x.launches {
		slices.SortStableFunc(list, func(a, b launch) int { return cmp.Compare(a.at, b.at) })
		first := 0
		isOpen := false
		var ran []launch
		for i, l := range list {
			if l.node.Known {
				byNode[l.node.V] = append(byNode[l.node.V], l)
			}
			switch {
			case strings.Contains(l.call, "BeginCapture"):
				first = i + 1
				isOpen = true
			case strings.Contains(l.call, "EndCapture"):
				if isOpen || first == 0 { // the trace may begin in a capture
					parts = append(parts, part{list: list[first:i], rank: p.rank})
				}
				isOpen = false
				first = i + 1
			case !l.isOfGraph && l.name != "":
				ran = append(ran, l)
			}
		}
		if isOpen {
			parts = append(parts, part{list: list[first:], rank: p.rank})
		}
		parts = append(parts, part{list: ran, rank: p.rank, ran: true})
	}
	// Graphs that the same captures fit, as many as they, have the order of these.
	type fit struct {
		graph
		order []int64 // of the nodes, by number: the order of the capture
		lists [][]launch
	}
	alike := make(map[string][]fit)
	for g, nodes := range x.nodes {
		f := fit{graph: g}
		for n := range nodes {
			f.order = append(f.order, n)
		}
		slices.Sort(f.order)
		x.Nodes += int64(len(f.order))
		var key []byte
		for k, p := range parts {
			for i := 0; i+len(f.order) <= len(p.list) && (p.ran || i == 0); i++ {
				list := p.list[i : i+len(f.order)]
				if (p.ran || len(p.list) == len(list)) && (p.rank == g.rank || !p.rank.Known) && fits(list, nodes, f.order) {
					f.lists = append(f.lists, list)
					key = fmt.Append(key, k, ":", i, " ")
				}
			}
		}
		slices.SortFunc(f.lists, func(a, b []launch) int { return cmp.Compare(a[0].at, b[0].at) })
		alike[string(key)] = append(alike[string(key)], f)
	}
	for _, list := range alike {
		slices.SortFunc(list, func(a, b fit) int { return cmp.Compare(a.order[0], b.order[0]) })
		for i, f := range list {
			if len(list) == len(f.lists) && !strings.HasPrefix(f.id, "at ") {
				f.lists = f.lists[i : i+1]
			}
			x.match(f.graph, f.order, f.lists, byNode)
		}
	}
}

func fits(list []launch, nodes map[int64]node, order []int64) bool {
	for i, l := range list {
		if n := nodes[order[i]]; l.kind != n.kind || l.name != "" && l.name != n.name {
			return false
		}
	}
	return true
}

func (x *Index) match(g graph, order []int64, lists [][]launch, byNode map[int64][]launch) {
	nodes := x.nodes[g]
	kernels := make(map[*op.Entry]int64)
	for i, n := range order {
		var all []*source
		for _, l := range byNode[n] {
			if l.name == nodes[n].name {
				all = append(all, l.by)
			}
		}
		if len(all) == 0 {
			for _, list := range lists {
				all = append(all, list[i].by)
			}
		}
		s := common(all)
		if s == nil {
			continue
		}
		x.Known++
		x.found[nodeID{g, n}] = s
		if s.works = s.host != nil && kernelname.TaskOf(nodes[n].name) != kernelname.Aside; s.works {
			kernels[s.host]++
		}
	}
	for _, n := range order {
		if s := x.found[nodeID{g, n}]; s != nil && s.works {
			s.share = kernels[s.host]
		}
	}
}

// common returns what sources agree on, nil for no operator.
func common(all []*source) *source {
	if len(all) == 0 || slices.Contains(all, nil) {
		return nil
	}
	s := *all[0]
	for _, o := range all[1:] {
		if o.operator != s.operator {
			return nil
		}
		if o.path != s.path {
			s.path = ""
		}
		if s.host != nil && !sameShapes(o.host, s.host) {
			s.host = nil
		}
	}
	return &s
}

func sameShapes(a, b *op.Entry) bool {
	return slices.Equal(a.InputDTypes, b.InputDTypes) && slices.Equal(a.OutputShape, b.OutputShape) &&
		slices.EqualFunc(a.InputShapes, b.InputShapes, slices.Equal)
}

// Apply completes an operation of a replay.
func (x *Index) Apply(e *op.Entry) {
	id, ok := nodeOf(e)
	s := x.found[id]
	if !ok || s == nil {
		return
	}
	e.LaunchedBy = s.operator
	e.Path = cmp.Or(s.path, e.Path)
	e.Attrs = slices.DeleteFunc(slices.Clone(e.Attrs), func(a op.Attr) bool { return a.Key == attrkey.GraphNodeName })
	e.Attrs = append(e.Attrs, op.Attr{Key: attrkey.GraphNodeName, Value: s.operator})
	if s.host == nil {
		return
	}
	e.InputShapes, e.InputDTypes = s.host.InputShapes, s.host.InputDTypes
	if s.share > 0 && s.host.OutputShape != nil {
		e.OutputShape, e.OutputElements = s.host.OutputShape, s.host.OutputElements
	}
	if s.operator == "aten::convolution_backward" {
		s = &source{share: (s.share + 1) / 2} // two products
	}
	if s.share > 1 {
		e.Attrs = append(e.Attrs, op.Attr{Key: attrkey.LaunchShare, Value: strconv.FormatInt(s.share, 10), Type: op.AttrInt})
	}
}
