package analyze

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

// requestRow is a request as the tests write it.
type requestRow struct {
	Name      string
	Trace     byte
	ID        uint64
	Start     op.Int
	Duration  op.Int
	Uncovered op.Int
	Queueing  op.Int
	Ops       []string
}

func requestRows(requests *Requests) []requestRow {
	var rows []requestRow
	for i := range requests.List {
		r := &requests.List[i]
		row := requestRow{
			r.Name, r.TraceID[15], spanNumber(r.SpanID), r.StartNS, r.DurationNS, r.UncoveredNS, r.QueueingNS, names(r.Operations()),
		}
		if r.Ops() != len(row.Ops) {
			panic("Ops and Operations disagree")
		}
		rows = append(rows, row)
	}
	return rows
}

func TestRequests(t *testing.T) {
	known := op.Known
	tests := []struct {
		name       string
		specs      []spec
		want       []requestRow
		unattached []string
	}{
		{name: "empty"},
		{
			name: "operations at any depth, overlapping and beyond the end",
			specs: []spec{
				spanAt("POST /predict", 1, 0, 0, 100), spanAt("inference", 2, 1, 5, 95),
				opAt("matmul", 3, 2, 10, 50), opAt("softmax", 4, 3, 40, 80), opAt("log", 5, 1, 90, 130),
			},
			want: []requestRow{{
				"POST /predict", 1, 1, known(0), known(100), known(20), known(10), []string{"matmul", "softmax", "log"},
			}},
		},
		{
			name: "in the order of their starts; without operations; an operation before the start",
			specs: []spec{
				spanAt("late", 1, 0, 50, 60).in(2), spanAt("timeless", 1, 0, 0, 10).in(1).withoutStart(),
				spanAt("early", 1, 0, 20, 30).in(0), opAt("a", 2, 1, 40, 55).in(2),
			},
			want: []requestRow{
				{"early", 0, 1, known(20), known(10), known(10), op.Int{}, nil},
				{"late", 2, 1, known(50), known(10), known(5), known(0), []string{"a"}},
				{"timeless", 1, 1, op.Int{}, known(10), op.Int{}, op.Int{}, nil},
			},
		},
		{
			name: "a remote parent makes a request of its own",
			specs: []spec{
				spanAt("gateway", 1, 0, 0, 100), spanAt("server", 2, 1, 20, 60).fromRemote(),
				opAt("a", 3, 2, 30, 40), opAt("b", 4, 1, 70, 90),
			},
			want: []requestRow{
				{"gateway", 1, 1, known(0), known(100), known(80), known(70), []string{"b"}},
				{"server", 1, 2, known(20), known(40), known(30), known(10), []string{"a"}},
			},
		},
		{
			name: "C2: an orphan belongs to the root that it names, what is below it as well",
			specs: []spec{
				opAt("a", 3, 2, 30, 40).under("request", 1), opAt("b", 4, 3, 50, 60), spanAt("request", 1, 0, 0, 100),
				opAt("c", 5, 2, 70, 80),
			},
			want:       []requestRow{{"request", 1, 1, known(0), known(100), known(80), known(30), []string{"a", "b"}}},
			unattached: []string{"c"},
		},
		{
			name: "a root that was not read has no times",
			specs: []spec{
				opAt("a", 3, 2, 30, 40).under("GET /", 1), opAt("b", 4, 2, 50, 60).under("GET /", 1), opAt("c", 5, 0, 0, 1).in(2).under("GET /", 1),
			},
			want: []requestRow{
				{Name: "GET /", Trace: 1, ID: 1, Ops: []string{"a", "b"}},
				{Name: "GET /", Trace: 2, ID: 1, Ops: []string{"c"}},
			},
		},
		{
			name: "a root that is named ends the walk",
			specs: []spec{
				spanAt("client", 1, 0, 0, 100), spanAt("server", 2, 1, 20, 60), opAt("a", 3, 2, 30, 40).under("server", 2),
			},
			want: []requestRow{
				{"client", 1, 1, known(0), known(100), known(100), op.Int{}, nil},
				{"server", 1, 2, known(20), known(40), known(30), known(10), []string{"a"}},
			},
		},
		{
			name: "an operation is no request",
			specs: []spec{
				opAt("step", 1, 0, 0, 100).under("step", 1), opAt("a", 2, 1, 10, 20).under("step", 1), opAt("none", 0, 0, 0, 1).in(0),
				opAt("a", 2, 1, 10, 20), // a duplicate is not counted
			},
			unattached: []string{"step", "a", "none"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			requests := addTo(NewForest(), tt.specs...).Requests()
			if diff := gocmp.Diff(tt.want, requestRows(requests)); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(tt.unattached, names(requests.Unattached())); diff != "" {
				t.Errorf("unattached (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequestsAgainstNaive(t *testing.T) {
	cases.Seeds(t, 300, func(seed uint64, r *rand.Rand) {
		specs := randomSpecs(r, r.IntN(20))
		naive := newNaiveTree(specs)
		if !naive.findExecutions() {
			return // links in a circle: see TestSharedExecutionsAddUp
		}
		ops := make(map[int][]int)
		unattached := 0
		for i, s := range specs {
			if naive.execution[i] >= 0 {
				continue
			}
			if s.isOp && !naive.duplicate[i] {
				owner := naive.naiveOwner(i)
				ops[owner] = append(ops[owner], i)
			}
			if naive.isLocalRoot(i) && ops[i] == nil {
				ops[i] = []int{}
			}
		}
		for _, e := range naive.executions {
			for _, owner := range naive.worksFor[e] {
				if ops[owner] == nil {
					ops[owner] = []int{}
				}
			}
		}
		unattached = len(ops[-1])
		delete(ops, -1)

		var want []requestRow
		for owner, list := range ops {
			want = append(want, naive.requestRow(owner, list))
		}
		requests := addTo(NewForest(), specs...).Requests()
		got := requestRows(requests)
		byIdentity := func(a, b requestRow) int {
			return cmp.Or(cmp.Compare(a.Trace, b.Trace), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Name, b.Name),
				cmp.Compare(a.Start.V, b.Start.V), cmp.Compare(a.Duration.V, b.Duration.V), slices.Compare(a.Ops, b.Ops))
		}
		slices.SortFunc(want, byIdentity)
		slices.SortFunc(got, byIdentity)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: requests (-want +got):\n%s", seed, diff)
		}
		if len(requests.unattached) != unattached {
			t.Errorf("seed %d: %d unattached operations, want %d", seed, len(requests.unattached), unattached)
		}
	})
}

func (n *naiveTree) requestRow(owner int, ops []int) requestRow {
	var row requestRow
	for _, o := range ops {
		row.Ops = append(row.Ops, n.specs[o].name)
	}
	ops = append(slices.Clip(ops), n.sharedOps(owner)...)
	if owner >= len(n.specs) {
		s := n.specs[owner-len(n.specs)]
		row.Name, row.Trace, row.ID = s.root, s.trace, s.rootID
		return row
	}
	s := n.specs[owner]
	row.Name, row.Trace, row.ID = s.name, s.trace, s.id
	row.Start, row.Duration = s.startTime(), op.Known(s.end-s.start)
	if s.timeless {
		return row
	}
	row.Uncovered = op.Known(0)
	for at := s.start; at < s.end; at++ {
		if !slices.ContainsFunc(ops, func(o int) bool { return n.specs[o].runsAt(at) }) {
			row.Uncovered.V++
		}
	}
	for _, o := range ops {
		if n.specs[o].timeless {
			continue
		}
		queueing := min(max(0, n.specs[o].start-s.start), s.end-s.start)
		if !row.Queueing.Known || queueing < row.Queueing.V {
			row.Queueing = op.Known(queueing)
		}
	}
	return row
}

func TestEndpoints(t *testing.T) {
	gpu := DeviceKey{DeviceID: "cuda:0"}
	forest := addTo(NewForest(),
		spanAt("GET /a", 1, 0, 0, 100).of("api"), opAt("matmul", 2, 1, 10, 40),
		spanAt("GET /a", 1, 0, 0, 50).in(2).of("api"), opAt("matmul", 2, 1, 5, 50).in(2),
		spanAt("GET /a", 1, 0, 0, 20).in(3).of("other"),
		opAt("relu", 1, 0, 0, 10).in(4).under("GET /b", 9),
	)
	want := []Endpoint{
		{
			Name: "GET /a", Service: "api", Requests: 2, Ops: 2, OwnNS: 75, Timed: 2, DurationNS: 150, MaxNS: 100, UncoveredNS: 75, QueueingNS: 15,
			Path: &PathSummary{
				Paths: 2, DurationNS: 150, BoundBy: BoundBy{ComputeNS: 75, HostNS: 75},
				Shares: []PathShare{
					{Operation: "GET /a", Kind: KindHost, TimeNS: 75, Share: 0.5, Segments: 3},
					{Operation: "matmul", Kind: "compute", DeviceKey: gpu, TimeNS: 75, Share: 0.5, Segments: 2},
				},
				Edges: PathEdges{Tree: 2},
			},
		},
		{
			Name: "GET /a", Service: "other", Requests: 1, Timed: 1, DurationNS: 20, MaxNS: 20, UncoveredNS: 20,
			Path: &PathSummary{
				Paths: 1, DurationNS: 20, BoundBy: BoundBy{HostNS: 20},
				Shares: []PathShare{{Operation: "GET /a", Kind: KindHost, TimeNS: 20, Share: 1, Segments: 1}},
			},
		},
		{Name: "GET /b", Requests: 1, Ops: 1, OwnNS: 10, Path: &PathSummary{Shares: []PathShare{}}},
	}
	if diff := gocmp.Diff(want, forest.Requests().Endpoints()); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
}
