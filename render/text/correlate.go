package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/internal/termtext"
	"github.com/optrace/optrace/internal/units"
	"github.com/optrace/optrace/op"
)

// CorrelateOptions says how to render a join with service traces.
type CorrelateOptions struct {
	// Color marks headings up with ANSI sequences.
	Color bool
	// Hyperlinks makes names lead to the tracing backend, on terminals that know such
	// links. Otherwise links are numbered and listed at the foot.
	Hyperlinks bool
	// Width bounds the lines, in columns; 0 means [DefaultWidth], and less than
	// [MinWidth] means that. The addresses at the foot are as long as they are.
	Width int
	// Top bounds the list of requests; the slowest are shown.
	Top int
	// Rows bounds the rows of the other tables; 0 means [DefaultRows].
	Rows int
}

// maxEndpoints bounds how many endpoints are shown in detail.
const maxEndpoints = 5

// WriteCorrelation renders c to w with one call of Write.
func WriteCorrelation(w io.Writer, c *correlate.Report, opts CorrelateOptions) error {
	v := &correlation{page: newPage(opts.Width, opts.Rows, opts.Color, opts.Hyperlinks), c: c, top: opts.Top}
	v.envelope()
	v.endpoints()
	v.details()
	v.requests()
	v.shared()
	v.unattached()
	v.foot()
	_, err := io.WriteString(w, v.b.String())
	return err
}

// correlation renders one join.
type correlation struct {
	page
	c   *correlate.Report
	top int
}

// envelope says what was joined, and what is wrong with it.
func (v *correlation) envelope() {
	c := v.c
	if c.Jaeger != "" {
		text := termtext.Clean(string(c.Jaeger))
		if s := c.Service; s != nil {
			text += fmt.Sprintf(", api %s: %s with %s and %s", cmp.Or(s.API, absent), plural(s.Traces, "trace"),
				plural(s.Entries, "operation"), plural(s.Skipped, "other span"))
		}
		v.field("jaeger", text, false)
	}
	if s := c.Service; s != nil {
		v.faults(&s.Envelope)
		if s.AtLimit {
			v.field("limit", "reached: there may be more traces", true)
		}
		if s.NotThere > 0 {
			v.field("not there", plural(s.NotThere, "trace")+" of the input not in Jaeger", true)
		}
		if s.NotAsked > 0 {
			v.field("not asked", plural(s.NotAsked, "trace")+" of the input beyond the limit", true)
		}
	}
	if in := c.Input; in != nil {
		v.field("input", fmt.Sprintf("%s, %s: %s and %s", plural(in.Files, "file"), units.Bytes(in.Bytes),
			plural(in.Entries, "operation"), plural(in.Skipped, "other span")), false)
		v.faults(in)
	}
	ops := int64(0)
	for i := range c.Requests {
		ops += c.Requests[i].Ops
	}
	own := ""
	if len(c.Shared) > 0 {
		own = " of their own"
	}
	v.field("requests", fmt.Sprintf("%s with %s%s", units.Count(int64(len(c.Requests))), plural(ops, "operation"), own), false)
	if len(c.Shared) > 0 {
		ops, ns := int64(0), int64(0)
		for i := range c.Shared {
			ops, ns = ops+c.Shared[i].Ops, ns+c.Shared[i].SumNS
		}
		v.field("shared", fmt.Sprintf("%s with %s, %s, divided among the requests that they link to",
			plural(int64(len(c.Shared)), "execution"), plural(ops, "operation"), units.Duration(ns)), false)
	}
	v.missingLinks(c.MissingLinks)
	if c.LeftOut.Requests+c.LeftOut.Ops > 0 {
		v.field("left out", fmt.Sprintf("%s and %s that were not asked for",
			plural(c.LeftOut.Requests, "request"), plural(c.LeftOut.Ops, "operation")), false)
	}
	if c.PrunedOps > 0 {
		v.field("pruned", plural(c.PrunedOps, "operation")+" in Jaeger as a summary on the request", false)
	}
	if c.Service != nil && c.Input != nil {
		v.field("missing", fmt.Sprintf("%s in Jaeger; %s locally, %s of them",
			plural(c.MissingInJaeger, "operation"), plural(c.MissingLocally, "span"), plural(c.MissingOpsLocally, "operation")),
			c.MissingInJaeger > 0)
	}
}

func (v *correlation) endpoints() {
	v.heading("ENDPOINTS")
	if len(v.c.Endpoints) == 0 {
		v.note("no requests: no span above an operation; optrace doctor says how there are some")
		return
	}
	t := newTable(names("endpoint", 0), names("service", 8), figures("requests", 0), figures("operations", 9), figures("shared", 6),
		figures("mean", 5), figures("p50", 3), figures("p95", 1), figures("max", 2), figures("uncovered", 4), figures("queueing", 7),
		figures("pruned", 10))
	for i := range v.c.Endpoints {
		e := &v.c.Endpoints[i]
		mean, uncovered, queueing, longest := absent, absent, absent, absent
		if e.Timed > 0 {
			mean = units.DurationFloat(float64(e.DurationNS) / float64(e.Timed))
			longest = units.Duration(e.MaxNS)
			uncovered, queueing = shareOf(e.UncoveredNS, e.DurationNS), shareOf(e.QueueingNS, e.DurationNS)
		}
		pruned := ""
		if e.Pruned.Count > 0 {
			pruned = fmt.Sprintf("%s, %s", units.Count(e.Pruned.Count), units.Duration(e.Pruned.SumNS))
		}
		t.addLinked(address(e.Link), e.Name, e.Service, units.Count(e.Requests), units.Count(e.Ops), sharedTime(e.SharedNS, e.SharedOps),
			mean, knownDuration(e.P50NS), knownDuration(e.P95NS), longest, uncovered, queueing, pruned)
	}
	v.table(t)
	v.note("uncovered: no operation ran; queueing: before the first one; both as parts of the requests' durations")
	if len(v.c.Shared) > 0 {
		v.note("shared: the requests' part of operations that ran for several requests at once, and how many these are")
	}
}

// details shows the endpoints with operations that took most of the time.
func (v *correlation) details() {
	shown, more := 0, int64(0)
	for i := range v.c.Endpoints {
		switch e := &v.c.Endpoints[i]; {
		case e.Ops+e.SharedOps == 0:
		case shown == maxEndpoints:
			more++
		default:
			v.endpoint(e)
			shown++
		}
	}
	if more > 0 {
		v.note("… and " + units.Count(more) + " more endpoints with operations, which took less time")
	}
}

// endpoint shows where the requests of an endpoint spend their time, and the
// slow ones more of it.
func (v *correlation) endpoint(e *correlate.Endpoint) {
	if len(e.Path.Shares) == 0 {
		return
	}
	v.heading("CRITICAL PATH of " + termtext.Clean(e.Name))
	v.note("bound by " + boundBy(&e.Path.BoundBy, e.Path.DurationNS))
	ranks := slices.ContainsFunc(e.Path.Shares, func(s correlate.Share) bool { return s.Rank.Known && s.Rank != e.Path.Shares[0].Rank })
	t := newTable(names("operation", 0), texts("kind", 3), names("device", 2), figures("time", 0), figures("share", 0), texts("", 1),
		figures("segments", 4))
	for _, s := range e.Path.Shares {
		t.addLinked(address(s.Link), s.Operation, s.Kind, s.Label(ranks), units.Duration(s.TimeNS), units.Percent(s.Share.Share),
			bar(s.Share.Share),
			units.Count(s.Segments))
	}
	v.table(t)
	c := e.Slow
	if c == nil {
		return
	}
	v.heading("SLOW REQUESTS of " + termtext.Clean(e.Name))
	v.note(fmt.Sprintf("the slowest tenth, %s of %s on average, against the half around the median, %s of %s: %s more, on the critical path",
		units.Count(c.Slow.Requests), units.DurationFloat(c.Slow.MeanNS), units.Count(c.Typical.Requests), units.DurationFloat(c.Typical.MeanNS),
		units.DurationFloat(c.DifferenceNS)))
	t = newTable(names("operation", 0), texts("kind", 4), names("device", 3), figures("slow", 0), figures("typical", 2),
		figures("difference", 0), figures("of it", 0), texts("", 1))
	for _, p := range c.Parts {
		of, drawn := absent, ""
		if c.DifferenceNS > 0 {
			of, drawn = units.Percent(p.DifferenceNS/c.DifferenceNS), bar(p.DifferenceNS/c.DifferenceNS)
		}
		t.addLinked(address(p.Link), p.Operation, p.Kind, p.Label(ranks), units.DurationFloat(p.SlowNS),
			units.DurationFloat(p.TypicalNS), units.DurationFloat(p.DifferenceNS), of, drawn)
	}
	v.table(t)
	v.open(linked{"the slowest", address(c.Slow.Link)}, linked{"a typical one", address(c.Typical.Link)},
		linked{"both compared", address(c.Link)})
}

// ids returns the columns of a row that tell what a link would.
func ids(link correlate.Link, trace op.TraceID, span op.SpanID) (traceText, spanText string) {
	if link != "" {
		return "", ""
	}
	return traceID(trace), spanID(span)
}

// requests lists the slowest requests.
func (v *correlation) requests() {
	if len(v.c.Requests) == 0 || v.top <= 0 {
		return
	}
	slowest := make([]*correlate.Request, len(v.c.Requests))
	for i := range slowest {
		slowest[i] = &v.c.Requests[i]
	}
	slices.SortStableFunc(slowest, func(a, b *correlate.Request) int { return cmp.Compare(b.DurationNS.V, a.DurationNS.V) })
	title := "REQUESTS"
	if len(slowest) > v.top {
		title += fmt.Sprintf(", the slowest %d of %s", v.top, units.Count(int64(len(slowest))))
		slowest = slowest[:v.top]
	}
	v.heading(title)
	t := newTable(names("request", 0), names("service", 7), texts("start", 5), figures("duration", 0), figures("operations", 4),
		figures("shared", 6), figures("uncovered", 1), figures("queueing", 3), names("mostly", 2), figures("not in jaeger", 3),
		figures("not local", 3), texts("trace", 10), texts("span", 11))
	for _, r := range slowest {
		uncovered, queueing := absent, absent
		if r.UncoveredNS.Known {
			uncovered = shareOf(r.UncoveredNS.V, r.DurationNS.V)
		}
		if r.QueueingNS.Known {
			queueing = shareOf(r.QueueingNS.V, r.DurationNS.V)
		}
		trace, span := ids(r.Link, r.TraceID, r.RootSpanID)
		t.addLinked(address(r.Link), r.Root, r.Service, start(r.StartNS), knownDuration(r.DurationNS), units.Count(r.Ops),
			sharedTime(r.SharedNS, r.SharedOps), uncovered, queueing, mostly(r),
			someCount(r.MissingInJaeger), someCount(r.MissingOpsLocally), trace, span)
	}
	v.table(t)
}

// sharedTime writes the part in operations of shared executions.
func sharedTime(ns, ops int64) string {
	if ops == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s)", units.Duration(ns), units.Count(ops))
}

// shared shows the executions that work for several requests, those with the most
// work.
func (v *correlation) shared() {
	if len(v.c.Shared) == 0 || v.top <= 0 {
		return
	}
	largest := slices.Clone(v.c.Shared)
	slices.SortStableFunc(largest, func(a, b correlate.Shared) int { return cmp.Compare(b.SumNS, a.SumNS) })
	title := "SHARED EXECUTIONS"
	if len(largest) > v.top {
		title += fmt.Sprintf(", the largest %d of %s", v.top, units.Count(int64(len(largest))))
		largest = largest[:v.top]
	}
	v.heading(title)
	t := newTable(names("execution", 0), names("service", 5), texts("start", 3), figures("duration", 0), figures("links", 4),
		figures("requests", 1), figures("operations", 2), figures("sum", 0), texts("trace", 6), texts("span", 7))
	for i := range largest {
		e := &largest[i]
		trace, span := ids(e.Link, e.TraceID, e.SpanID)
		t.addLinked(address(e.Link), e.Name, e.Service, start(e.StartNS), units.Duration(e.DurationNS), units.Count(e.Links),
			units.Count(e.Requests), units.Count(e.Ops), units.Duration(e.SumNS), trace, span)
	}
	v.table(t)
	v.note("the time of their operations is divided among the requests that they link to")
}

// mostly names the largest part of a request's critical path.
func mostly(r *correlate.Request) string {
	if len(r.CriticalPath) == 0 || r.DurationNS.V <= 0 {
		return absent
	}
	p := &r.CriticalPath[0]
	return fmt.Sprintf("%.0f %% %s", float64(p.TimeNS)/float64(r.DurationNS.V)*100, p.Operation)
}

// unattached lists the first operations without a request.
func (v *correlation) unattached() {
	if v.c.UnattachedOps == 0 {
		return
	}
	v.heading("UNATTACHED")
	v.note(pluralOf(v.c.UnattachedOps, "operation belongs", "operations belong") + " to no request")
	shown := v.c.Unattached[:min(len(v.c.Unattached), max(0, v.top))]
	if len(shown) == 0 {
		return
	}
	t := newTable(names("operation", 0), texts("kind", 3), names("device", 1), figures("duration", 0), texts("start", 2),
		texts("trace", 4), texts("span", 5))
	for i := range shown {
		o := &shown[i]
		trace, span := ids(o.Link, o.TraceID, o.SpanID)
		t.addLinked(address(o.Link), o.Operation, o.Kind, o.Label(true), units.Duration(o.DurationNS), start(o.StartNS), trace, span)
	}
	v.table(t)
}

// shareOf writes a part of a duration with its share.
func shareOf(ns, whole int64) string {
	if whole == 0 {
		return units.Duration(ns)
	}
	return fmt.Sprintf("%s (%.0f %%)", units.Duration(ns), float64(ns)/float64(whole)*100)
}

// someCount writes a number that is usually 0, which is left out.
func someCount(n int64) string {
	if n == 0 {
		return ""
	}
	return units.Count(n)
}
