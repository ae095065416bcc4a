package html

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

const maxRequests = 2000 // bounds the requests of a page; it keeps the slowest

// view is the JSON part of the page's data. Times are in nanoseconds from the first start.
type view struct {
	// Rows is the number of operations and spans in the columns.
	Rows int `json:"rows"`
	// Origin is the first start in Unix nanoseconds, as text: numbers of JavaScript are too small for it.
	Origin string   `json:"origin_ns"`
	SpanNS int64    `json:"span_ns"`
	Names  []string `json:"names"`
	// Short maps names of kernels to their short forms.
	Short   map[string]string `json:"short,omitempty"`
	Devices []shownDevice     `json:"devices"`
	// LaunchDevices has the device of each stream in the report's launches.
	LaunchDevices []int32  `json:"launch_devices,omitempty"`
	Shapes        []string `json:"shapes"`
	Steps         []int64  `json:"steps"`
	// Threads are the threads of the host.
	Threads []thread `json:"threads"`
	// Arguments has the arguments of kernels; the first is for rows without arguments.
	Arguments []json.RawMessage `json:"arguments"`
	// Errors has the texts of errors, "" for an error without text.
	Errors   []string  `json:"errors"`
	Requests []request `json:"requests"`
	Total    int       `json:"requests_total"`
	// StepStarts has the start of each of the report's steps.
	StepStarts []op.Int `json:"step_starts"`
	// Latencies has all requests of each name, if there are more than Requests.
	Latencies []*latencies `json:"latencies,omitempty"`
	// Links has the source and target rows of links, LinksTotal the number of all links.
	Links      [][2]int32 `json:"links"`
	LinksTotal int        `json:"links_total"`
	// Selections has the evidence that each of the findings selects.
	Findings   []findings.Finding `json:"findings"`
	Selections []selection        `json:"selections"`
	Report     *analyze.Report    `json:"report"`
	Diff       *diff.Report       `json:"diff,omitempty"`

	severalRanks bool // labels of devices have the rank
	reported     int  // devices in the report, without devices named only by the host's view
}

type shownDevice struct {
	Label string `json:"label"`
	// Unknown is set for the device of operations without a known device.
	Unknown bool `json:"unknown,omitempty"`
	// Row is the device's row in the report's table, IdleRow its row among idle causes; -1 if missing.
	Row     int `json:"row"`
	IdleRow int `json:"idle_row"`
}

// request is a request and its critical path, largest part first.
type request struct {
	Index     int        `json:"index"`
	Name      string     `json:"name"`
	Service   string     `json:"service"`
	Trace     op.TraceID `json:"trace"`
	Span      op.SpanID  `json:"span"`
	Start     int64      `json:"start"`
	Duration  int64      `json:"dur"`
	Ops       int        `json:"ops"`
	Uncovered int64      `json:"uncovered"`
	Path      []part     `json:"path"`
	// Segments has the critical path of one of the slowest requests in order of time: row (-1 if not drawn), start,
	// duration.
	Segments [][3]int64 `json:"segments,omitempty"`
	// Causes are sentences about the waiting time of one of the slowest requests, largest part first.
	Causes []string `json:"causes,omitempty"`
	// Shared are the executions with the largest parts that the request shares with others. SharedTotal is the number
	// of all such executions, SharedNS the sum of the request's parts in them.
	Shared      []shared `json:"shared,omitempty"`
	SharedTotal int      `json:"shared_total,omitempty"`
	SharedNS    int64    `json:"shared_ns,omitempty"`
	Link        string   `json:"link,omitempty"`
}

// latencies are the starts of the requests of a name, each from the one before, and their durations.
type latencies struct {
	Name      string  `json:"name"`
	Starts    []int64 `json:"starts"`
	Durations []int64 `json:"durs"`
}

// latenciesOf returns the latencies of requests by name.
func latenciesOf(list []requests.Request, origin int64) []*latencies {
	inOrder := slices.Clone(list)
	slices.SortStableFunc(inOrder, func(a, b requests.Request) int { return cmp.Compare(a.StartNS.V, b.StartNS.V) })
	var all []*latencies
	var names symbols.Table[string]
	last := make(map[int32]int64)
	for i := range inOrder {
		q := &inOrder[i]
		n := names.ID(q.Name)
		if int(n) == len(all) {
			all = append(all, &latencies{Name: q.Name})
			last[n] = origin
		}
		all[n].Starts = append(all[n].Starts, q.StartNS.V-last[n])
		all[n].Durations = append(all[n].Durations, q.DurationNS.V)
		last[n] = q.StartNS.V
	}
	return all
}

// shared is an execution for several requests, and one request's part in it.
type shared struct {
	Name     string `json:"name"`
	Row      int32  `json:"row"` // of its span, -1 if not drawn
	Start    int64  `json:"start"`
	Duration int64  `json:"dur"`
	Requests int    `json:"requests"`
	Ops      int    `json:"ops"`
	NS       int64  `json:"ns"`
}

const maxCauses = 100

const maxSegments = 20_000

const maxShared = 20

type part struct {
	Operation string `json:"operation"`
	Kind      string `json:"kind"`
	Device    string `json:"device"`
	NS        int64  `json:"ns"`
}

// newView describes a report and the rows of its forest.
func newView(r *analyze.Report, opts Options) (*view, *rows) {
	v := &view{
		Report: r, Diff: opts.Diff, Requests: []request{}, Devices: []shownDevice{}, Shapes: []string{""},
		Steps: []int64{}, Threads: []thread{}, Findings: []findings.Finding{}, Names: []string{}, Errors: []string{},
	}
	columns := newRows(r.Forest)
	v.SpanNS = columns.span
	v.Origin = strconv.FormatInt(columns.origin, 10)
	devices := columns.devices.Values
	v.severalRanks = slices.ContainsFunc(devices, func(k device.Key) bool { return k.Rank != devices[0].Rank })
	rowOf := places(r.Devices, (*profile.Device).Key)
	idleRowOf := func(device.Key) int { return none }
	if r.IdleCauses != nil {
		idleRowOf = places(r.IdleCauses.Devices, func(d *timeline.IdleDevice) device.Key { return d.Key })
	}
	for _, k := range devices {
		one := shownDevice{Label: k.Label(v.severalRanks), Unknown: k.IsNone(), Row: rowOf(k), IdleRow: idleRowOf(k)}
		if v.Devices = append(v.Devices, one); one.Row >= 0 {
			v.reported++
		}
	}
	if r.Launches != nil {
		for i := range r.Launches.Streams {
			v.LaunchDevices = append(v.LaunchDevices, columns.devices.ID(r.Launches.Streams[i].Key))
		}
	}
	for i := range r.Steps {
		at := r.Steps[i].StartNS
		at.V -= columns.origin
		v.StepStarts = append(v.StepStarts, at)
	}
	found := requests.Find(r.Forest)
	slowest := slices.DeleteFunc(found.List, func(q requests.Request) bool {
		return q.Root.IsZero() || !q.StartNS.Known
	})
	slices.SortStableFunc(slowest, func(a, b requests.Request) int {
		return cmp.Compare(b.DurationNS.V, a.DurationNS.V)
	})
	if v.Total = len(slowest); v.Total > maxRequests {
		v.Latencies = latenciesOf(slowest, columns.origin)
	}
	slowest = slowest[:min(len(slowest), maxRequests)]
	for i := range slowest {
		columns.setRequest(&slowest[i], i)
	}
	v.Rows = len(columns.list)
	v.Links, v.LinksTotal = columns.links()
	segments := maxSegments
	for i := range slowest {
		q := v.request(&slowest[i], i, columns, &segments)
		if i < maxCauses {
			for _, c := range found.Causes(&slowest[i]) {
				q.Causes = append(q.Causes, c.Text)
			}
		}
		if opts.Link != nil {
			q.Link = opts.Link(q.Trace, q.Span)
		}
		v.Requests = append(v.Requests, q)
	}
	return v, columns
}

// places returns a function from a device to its position in list, or none.
func places[T any](list []T, keyOf func(*T) device.Key) func(device.Key) int {
	at := make(map[device.Key]int, len(list))
	for i := range slices.Backward(list) {
		at[keyOf(&list[i])] = i // the first of equal ones
	}
	return func(k device.Key) int {
		if i, ok := at[k]; ok {
			return i
		}
		return none
	}
}

// request describes request number i, after the rows are set. It includes segments of the critical path while left
// allows.
func (v *view) request(q *requests.Request, i int, columns *rows, left *int) request {
	critical := path.Of(q.Root.Forest, q.Root)
	r := request{
		Index: i, Name: q.Name, Service: q.Service, Trace: q.TraceID, Span: q.SpanID,
		Start: q.StartNS.V - columns.origin, Duration: q.DurationNS.V, Ops: q.Ops(), Uncovered: q.UncoveredNS.V,
		Path: pathParts(critical, v.severalRanks),
	}
	if critical != nil && len(critical.Segments) <= *left {
		*left -= len(critical.Segments)
		for _, s := range critical.Segments {
			r.Segments = append(r.Segments, [3]int64{int64(columns.rowOf(s.Node)), s.StartNS - columns.origin,
				s.DurationNS})
		}
	}
	for e, ns := range q.Executions() {
		r.SharedTotal++
		r.SharedNS += ns
		r.Shared = append(r.Shared, shared{
			Name: e.Name, Row: columns.rowOf(e.Root), Start: e.StartNS.V - columns.origin, Duration: e.DurationNS,
			Requests: e.Requests, Ops: e.Ops(), NS: ns,
		})
	}
	slices.SortStableFunc(r.Shared, func(a, b shared) int { return cmp.Compare(b.NS, a.NS) })
	r.Shared = slices.Clip(r.Shared[:min(len(r.Shared), maxShared)])
	return r
}

// pathParts sums up the segments of a path by operation, kind and device.
func pathParts(p *path.Path, withRank bool) []part {
	parts := []part{}
	if p == nil {
		return parts
	}
	var keys symbols.Table[part]
	for _, s := range p.Segments {
		key := part{Operation: s.Node.Name(), Kind: path.KindHost}
		switch {
		case s.Node.IsZero():
			key.Kind = path.KindIdle
		case s.Node.IsOp() && s.Node.Side() == op.SideNone:
			key.Kind = s.Node.Kind().String()
			key.Device = s.Node.Device().Label(withRank)
		}
		i := int(keys.ID(key))
		if i == len(parts) {
			parts = append(parts, key)
		}
		parts[i].NS += s.DurationNS
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.NS, a.NS) })
	return parts
}
