package correlate

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/blame"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Report joins the two sides. It ends the Join: call it once, and add no record after it.
func (j *Join) Report(opts Options) *Report {
	forest := j.local
	localRows := forest.Len()
	if j.service.Len() > 0 {
		forest.Merge(j.service)
	}
	s := newSides(forest, localRows, opts.Jaeger != "")
	links := Link(opts.Jaeger)
	r := &Report{
		Schema: Schema, Jaeger: links, Input: opts.Input, Service: opts.Service,
		Findings: []findings.Finding{}, Requests: []Request{}, Shared: []Shared{}, Unattached: []Op{},
		Blame: []blame.Blame{}, Culprits: []blame.Culprit{},
	}
	if opts.RequestsOf != "" {
		forest.EnterService(opts.RequestsOf)
	}
	r.Composed = engines.Compose(forest)
	all := requests.Find(forest)
	graph := replay.New(forest)
	var prices *pricing
	if opts.Price != nil {
		prices = newPricing(opts.Price, all, forest, graph)
	}
	told := newTold(forest)
	kept := all.List[:0]
	keptTraces := make(map[op.TraceID]struct{})
	paths := make(map[endpointName]*path.Sum)
	for i := range all.List {
		q := &all.List[i]
		if opts.Keep != nil && !opts.Keep(q) {
			r.LeftOut.Requests++
			r.LeftOut.Ops += int64(q.Ops())
			continue
		}
		keptTraces[q.TraceID] = struct{}{}
		sum := all.Path(q)
		row := Request{
			TraceID: q.TraceID, Root: q.Name, RootSpanID: q.SpanID, Service: q.Service, StartNS: q.StartNS,
			DurationNS: q.DurationNS, UncoveredNS: q.UncoveredNS, QueueingNS: q.QueueingNS, QueuedNS: all.Queued(q),
			OwnNS: q.OwnNS, SharedNS: q.SharedNS, SharedOps: int64(q.SharedOps),
			CriticalPath: pathParts(forest, sum, links), Link: links.span(q.TraceID, q.SpanID),
			Errors: profile.ErrorsOf(q.Operations(), maxErrors),
		}
		row.Error, row.Failed = q.Root.Failure()
		name := endpointName{row.Root, row.Service}
		if paths[name] == nil {
			paths[name] = path.NewSum(forest)
		}
		if sum != nil {
			paths[name].Merge(sum)
		}
		s.compareOps(&row, q.Operations(), j.pruned[trace.SpanRef{Trace: row.TraceID, Span: row.RootSpanID}])
		if root := q.Root; !root.IsZero() {
			row.InLocal = s.inLocal(root)
			row.InJaeger = s.asked && s.inJaeger(root)
		}
		if prices != nil {
			row.Charge = prices.charge(q)
		}
		row.Engines = told.join(q)
		_, row.Annotated = j.annotated[annotationID(q.TraceID, q.SpanID)]
		r.addMissing(&row)
		r.Requests = append(r.Requests, row)
		kept = append(kept, *q)
	}
	all.List = kept
	r.addShared(all, s, j.pruned, keptTraces, links)
	if !s.hasLocal() {
		r.MissingLocally = 0
	}
	for n := range forest.Nodes() {
		if _, kept := keptTraces[n.TraceID()]; kept && s.hasLocal() && !s.inLocal(n) && !n.IsDuplicate() {
			r.MissingLocally++
		}
	}
	r.MissingLinks = all.MissingLinks
	r.unattached(all, opts, links)
	r.Endpoints = endpoints(r.Requests, paths, links)
	told.addRows(r.Endpoints)
	if len(all.List) > 0 {
		r.addBlame(all, graph)
	}
	if opts.Findings {
		counts := *r.counts(forest)
		for i := range r.Requests {
			counts.Summarized += r.Requests[i].Pruned.NotHeld
		}
		r.Findings = analyze.FindingsOf(forest, &counts)
	}
	if prices != nil {
		r.Price = prices.finish(r.Requests)
	}
	return r
}

// counts returns the envelope of the local batch, or else of the other side.
func (r *Report) counts(f *trace.Forest) *analyze.Envelope {
	if r.Input != nil {
		return r.Input
	} else if r.Service != nil {
		return &r.Service.Envelope
	}
	return &analyze.Envelope{Spans: f.Counts.Spans + f.Counts.Ops, Entries: f.Counts.Ops}
}

// addShared lists the executions of the kept requests, and adds their traces to traces.
func (r *Report) addShared(all *requests.Requests, s *sides, pruned map[trace.SpanRef][]op.Pruned,
	traces map[op.TraceID]struct{}, links Link) {
	kept := make(map[*requests.Execution]struct{})
	for i := range all.List {
		for e := range all.List[i].Executions() {
			kept[e] = struct{}{}
		}
	}
	for i := range all.Shared {
		e := &all.Shared[i]
		if _, ok := kept[e]; !ok {
			r.LeftOut.Ops += int64(e.Ops())
			continue
		}
		traces[e.TraceID] = struct{}{}
		var missing Request // counts what one side lacks
		s.compareOps(&missing, e.Operations(), pruned[trace.SpanRef{Trace: e.TraceID, Span: e.SpanID}])
		r.addMissing(&missing)
		r.Shared = append(r.Shared, Shared{
			Name: e.Name, Service: e.Service, TraceID: e.TraceID, SpanID: e.SpanID,
			StartNS: e.StartNS, DurationNS: e.DurationNS, Links: int64(e.Links), Requests: int64(e.Requests),
			DroppedLinks: e.DroppedLinks, UnlinkedNS: e.UnlinkedNS,
			Ops: missing.Ops, SumNS: e.SumNS, Errors: profile.ErrorsOf(e.Operations(), maxErrors),
			DividedBy: append([]requests.Division{}, e.DividedBy...), Link: links.span(e.TraceID, e.SpanID),
		})
	}
}

const maxCulprits = 100

// addBlame finds who delayed the slowest of the requests.
func (r *Report) addBlame(all *requests.Requests, graph *replay.Graph) {
	kept := make(map[int32]bool)
	for i := range all.List {
		if q := &all.List[i]; !q.Root.IsZero() {
			kept[q.Root.Row] = true
		}
	}
	b := graph.Blame(func(row int32) bool { return kept[row] })
	r.Blame = b.Rows
	r.Culprits = b.Culprits[:min(len(b.Culprits), maxCulprits)]
}

func (r *Report) addMissing(q *Request) {
	r.MissingInJaeger += q.MissingInJaeger
	r.MissingOpsLocally += q.MissingOpsLocally
	r.MissingLocally += q.Pruned.NotHeld
	r.PrunedOps += q.Pruned.Count
}

func (r *Report) unattached(all *requests.Requests, opts Options, links Link) {
	for n := range all.Unattached() {
		if opts.KeepTrace != nil && !opts.KeepTrace(n.TraceID()) {
			r.LeftOut.Ops++
			continue
		}
		r.UnattachedOps++
		if len(r.Unattached) == maxUnattached {
			continue
		}
		kind := path.KindHost
		if n.Side() == 0 {
			kind = n.Kind().String()
		}
		r.Unattached = append(r.Unattached, Op{
			Operation: n.Name(), Kind: kind, Key: n.Device(), TraceID: n.TraceID(), SpanID: n.SpanID(),
			StartNS: n.Start(), DurationNS: n.Duration(), Link: links.span(n.TraceID(), n.SpanID()),
		})
	}
}

// pathParts divides the critical path of a request, the largest part first. sum is nil for a request without a path.
func pathParts(f *trace.Forest, sum *path.Sum, links Link) []PathPart {
	parts := []PathPart{}
	if sum == nil {
		return parts
	}
	for row, share := range sum.Rows() {
		longest := f.Node(share.Longest.Row)
		parts = append(parts, PathPart{
			Operation: row.Operation, Kind: row.Kind, Key: row.Key, TimeNS: share.Time.Int64(),
			Segments: share.Segments, SpanID: longest.SpanID(), StartNS: op.Known(share.Longest.From),
			Link: links.span(longest.TraceID(), longest.SpanID()),
		})
	}
	slices.SortFunc(parts, func(a, b PathPart) int {
		return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS), a.key().compare(b.key()))
	})
	return parts
}
