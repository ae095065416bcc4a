package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

const maxEndpoints = 5

var correlationSections = []struct {
	name  string
	write func(*correlation)
}{
	{"findings", func(v *correlation) { v.listFindings(v.c.Findings, "", "") }},
	{"blame", (*correlation).blame}, {"endpoints", (*correlation).endpoints}, {"engines", (*correlation).engines},
	{"price", (*correlation).price}, {"critical_path", (*correlation).details}, {"requests", (*correlation).requests},
	{"shared", (*correlation).shared}, {"unattached", (*correlation).unattached},
}

// WriteCorrelation renders c to w with one call of Write. With opts.FirstScreen it begins with the inputs and their
// faults, the most important findings, the endpoints with the most time, and the slowest requests with their largest
// causes: in 80 columns, the default width then, at most 30 lines. The sections selected by opts.Show follow.
func WriteCorrelation(w io.Writer, c *correlate.Report, opts Options) error {
	if opts.FirstScreen {
		opts.Width = cmp.Or(opts.Width, overviewWidth)
	}
	v := &correlation{newPage(opts), c}
	if opts.FirstScreen {
		v.firstScreen()
	} else {
		v.envelope()
	}
	for _, s := range correlationSections {
		if v.Show == nil || v.Show(s.name) {
			s.write(v)
		}
	}
	v.foot()
	return v.writeTo(w)
}

func (v *correlation) firstScreen() {
	c := v.c
	part := func(write func(*correlation)) []string {
		p := &correlation{newPage(v.Options), c}
		write(p)
		return strings.SplitAfter(p.b.String(), "\n")[:strings.Count(p.b.String(), "\n")]
	}
	const heads, foot = 14, 3
	lines := part((*correlation).envelope)
	if n := len(lines); n > heads {
		lines = append(lines[:heads-1], fmt.Sprintf("  … and %d more lines → all\n", n-heads+1))
	}
	endpoints := part(func(v *correlation) { v.busiest(3) })
	if delays := part((*correlation).delays); len(delays) > 0 {
		endpoints = append(append([]string{"\n"}, delays...), endpoints...)
	}
	left := overviewLines - len(lines) - len(endpoints) - foot
	told := []string{""}
	for i := range c.Findings {
		f := part(func(v *correlation) { v.finding(c.Findings, i, "", "") })
		if len(told)+len(f)+min(1, len(c.Findings)-1-i) > left-5 { // two requests
			told = append(told, fmt.Sprintf("  … and %d more → findings\n", len(c.Findings)-i))
			break
		}
		told[0] = "\n"
		told = append(told, f...)
	}
	v.b.WriteString(strings.Join(append(lines, told...), "") + strings.Join(endpoints, ""))
	v.slowest(min(v.Top, left-len(told)-3))
	v.b.WriteByte('\n')
	more := "More detail: optrace correlate -section all FILE"
	if slowest := v.bySlowness(1); len(slowest) > 0 {
		more += "; slowest request: -trace " + idText(slowest[0].TraceID)
	}
	v.fold("", "", more, dim)
}

// busiest shows the endpoints with the most time.
func (v *correlation) busiest(most int) {
	if len(v.c.Endpoints) == 0 {
		v.endpoints()
		return
	}
	v.b.WriteByte('\n')
	n := min(len(v.c.Endpoints), most)
	t := newTable(ofAll(n, len(v.c.Endpoints), "endpoint") + ":n|requests|p50|p95|max:2|bound by:t1")
	for i := range n {
		e := &v.c.Endpoints[i]
		t.add(e.Name, units.Count(e.Requests), knownDuration(e.P50NS), knownDuration(e.P95NS), units.Duration(e.MaxNS),
			boundBy(&e.Path.BoundBy, e.Path.DurationNS))
	}
	t.write(&v.page)
}

// slowest shows the slowest requests and their largest causes.
func (v *correlation) slowest(most int) {
	if len(v.c.Requests) == 0 || most <= 0 {
		return
	}
	v.b.WriteByte('\n')
	rows := v.bySlowness(most)
	t := newTable(ofAll(len(rows), len(v.c.Requests), "slowest") + ":n|duration|typical|part|largest cause:n|trace:t1")
	for i := range rows {
		typical, part, cause := v.cause(&rows[i])
		t.add(rows[i].Root, knownDuration(rows[i].DurationNS), typical, part, cause, idText(rows[i].TraceID))
	}
	t.write(&v.page)
	v.note("part: of the request; with +, beyond typical ones of the endpoint")
}

// bySlowness returns the slowest requests.
func (v *correlation) bySlowness(most int) []correlate.Request {
	rows, _ := largest(v.c.Requests, most, "", "", func(r *correlate.Request) int64 { return r.DurationNS.V })
	return rows
}

// cause returns the part of a request's critical path with the most time, beyond typical requests of its endpoint if it
// took longer than these.
func (v *correlation) cause(r *correlate.Request) (typical, part, name string) {
	usual := make(map[correlate.PathPart]float64)
	for i := range v.c.Endpoints {
		e := &v.c.Endpoints[i]
		if e.Name != r.Root || e.Service != r.Service || e.Slow == nil {
			continue
		}
		typical = units.DurationFloat(e.Slow.Typical.MeanNS)
		for _, p := range e.Slow.Parts {
			if float64(r.DurationNS.V) > e.Slow.Typical.MeanNS {
				usual[correlate.PathPart{Operation: p.Operation, Kind: p.Kind, Key: p.Key}] = p.TypicalNS
			}
		}
	}
	most := 0.0
	for i := range r.CriticalPath {
		p := &r.CriticalPath[i]
		more := float64(p.TimeNS) - usual[correlate.PathPart{Operation: p.Operation, Kind: p.Kind, Key: p.Key}]
		if more <= most {
			continue
		}
		most = more
		part = ifAny(int64(len(usual)), "+") + units.DurationFloat(more)
		isHost := p.Kind == path.KindHost
		switch {
		case isHost && 10*r.QueueingNS.V >= 9*p.TimeNS:
			name = "before its first operation"
		case isHost && 2*r.QueuedNS >= p.TimeNS:
			name = "waiting in a queue"
		default:
			name = p.Operation
		}
	}
	return typical, part, name
}

type correlation struct {
	page
	c *correlate.Report
}

// envelope describes the joined inputs and their faults.
func (v *correlation) envelope() {
	c := v.c
	if c.Jaeger != "" {
		text := termtext.Clean(string(c.Jaeger))
		if s := c.Service; s != nil {
			text += fmt.Sprintf(", api %s: %s with %s and %s", cmp.Or(s.API, absent), units.Plural(s.Traces, "trace"),
				units.Plural(s.Entries, "operation"), units.Plural(s.Skipped, "other span"))
		}
		v.field("jaeger", text, false)
	}
	if s := c.Service; s != nil {
		v.faults(&s.Envelope)
		if s.AtLimit {
			v.field("limit", "reached: there may be more traces", true)
		}
		v.fault("not there", s.NotThere, units.Plural(s.NotThere, "trace")+" of the input not in Jaeger")
		v.fault("not asked", s.NotAsked, units.Plural(s.NotAsked, "trace")+" of the input beyond the limit")
	}
	if in := c.Input; in != nil {
		v.field("input", fmt.Sprintf("%s, %s: %s and %s", units.Plural(in.Files, "file"), units.Bytes(in.Bytes),
			units.Plural(in.Entries, "operation"), units.Plural(in.Skipped, "other span")), false)
		v.faults(in)
	}
	executions := int64(len(c.Shared))
	var own, shared, sharedNS, dropped int64
	for i := range c.Requests {
		own += c.Requests[i].Ops
	}
	for i := range c.Shared {
		e := &c.Shared[i]
		shared += e.Ops
		sharedNS += e.SumNS
		dropped += e.DroppedLinks
	}
	v.field("requests", units.Count(int64(len(c.Requests)))+" with "+units.Plural(own, "operation")+ifAny(executions,
		" of their own"), false)
	v.fact("shared", executions, fmt.Sprintf("%s with %s, %s, divided among the requests that they link to",
		units.Plural(executions, "execution"), units.Plural(shared, "operation"), units.Duration(sharedNS)))
	v.composed(c.Composed)
	v.missingLinks(c.MissingLinks)
	v.droppedLinks(dropped)
	v.fact("left out", c.LeftOut.Requests+c.LeftOut.Ops, fmt.Sprintf("%s and %s that were not asked for",
		units.Plural(c.LeftOut.Requests, "request"), units.Plural(c.LeftOut.Ops, "operation")))
	v.fact("pruned", c.PrunedOps, units.Plural(c.PrunedOps, "operation")+" in Jaeger as a summary on the request")
	if c.Service != nil && c.Input != nil {
		v.field("missing", fmt.Sprintf("%s in Jaeger; %s locally, %s of them",
			units.Plural(c.MissingInJaeger, "operation"), units.Plural(c.MissingLocally, "span"),
			units.Plural(c.MissingOpsLocally, "operation")), c.MissingInJaeger > 0)
	}
}

func (v *correlation) endpoints() {
	none := "no requests: no operation has a span above it; optrace doctor says how to record some"
	if n := v.c.LeftOut.Requests; n > 0 {
		none = "no requests: -service or another flag leaves out " + units.Plural(n, "request")
	}
	if v.empty("ENDPOINTS", len(v.c.Endpoints) == 0, none) {
		return
	}
	const columns = "endpoint:n|service:n8|requests|operations:9|shared:6|mean:5|p50:3|p95:1|max:2|uncovered:4" +
		"|queued:7|pruned:10"
	show(&v.page, columns, v.c.Endpoints, func(t *table, e *correlate.Endpoint) {
		mean := absent
		uncovered := absent
		queued := ""
		longest := absent
		if e.Timed > 0 {
			mean = units.DurationFloat(float64(e.DurationNS) / float64(e.Timed))
			longest = units.Duration(e.MaxNS)
			uncovered = part(e.UncoveredNS, e.DurationNS)
			queued = nonZero(e.QueuedNS, func(ns int64) string { return part(ns, e.DurationNS) })
		}
		pruned := nonZero(e.Pruned.Count, func(n int64) string {
			return units.Count(n) + ", " + units.Duration(e.Pruned.SumNS)
		})
		t.addLinked(e.Link, e.Name, e.Service, units.Count(e.Requests), units.Count(e.Ops),
			sharedTime(e.SharedNS, e.SharedOps),
			mean, knownDuration(e.P50NS), knownDuration(e.P95NS), longest, uncovered, queued, pruned)
	})
	v.note("uncovered: time with no operation running; queued: time in a recorded queue before the first one")
	if len(v.c.Shared) > 0 {
		v.note("shared: the requests' part of operations that ran for several requests at once, and how many these are")
	}
}

func (v *correlation) engines() {
	var rows []engines.Engine
	for i := range v.c.Endpoints {
		for _, e := range v.c.Endpoints[i].Engines {
			e.Key = map[string]string{"endpoint": v.c.Endpoints[i].Name}
			rows = append(rows, e)
		}
	}
	if len(rows) == 0 {
		return
	}
	v.heading("REQUESTS OF ENGINES")
	v.table(enginesTable(rows, []string{"endpoint"}))
	v.note(enginesNote)
}

// details shows the endpoints with the most time in operations.
func (v *correlation) details() {
	shown := 0
	more := int64(0)
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
		v.note("… and " + units.Plural(more, "more endpoint") + " with operations, which took less time")
	}
}

// endpoint shows the critical path of an endpoint's requests, and the extra time of slow ones.
func (v *correlation) endpoint(e *correlate.Endpoint) {
	if len(e.Path.Shares) == 0 {
		return
	}
	v.heading("CRITICAL PATH of " + termtext.Clean(e.Name))
	v.note("bound by " + boundBy(&e.Path.BoundBy, e.Path.DurationNS))
	ranks := slices.ContainsFunc(e.Path.Shares, func(s correlate.Share) bool {
		return s.Rank.Known && s.Rank != e.Path.Shares[0].Rank
	})
	show(&v.page, "operation:n|kind:t3|device:n2|time|share|:t1|segments:4", e.Path.Shares,
		func(t *table, s *correlate.Share) {
			t.addLinked(s.Link, s.Operation, s.Kind, s.Label(ranks), units.Duration(s.TimeNS),
				units.Percent(s.Share.Share), bar(s.Share.Share), units.Count(s.Segments))
		})
	c := e.Slow
	if c == nil {
		return
	}
	v.heading("SLOW REQUESTS of " + termtext.Clean(e.Name))
	v.note(fmt.Sprintf("the slowest tenth, %s of %s on average, against the half around the median, %s of %s: %s "+
		"more, on the critical path", units.Count(c.Slow.Requests), units.DurationFloat(c.Slow.MeanNS),
		units.Count(c.Typical.Requests), units.DurationFloat(c.Typical.MeanNS), units.DurationFloat(c.DifferenceNS)))
	show(&v.page, "operation:n|kind:t4|device:n3|slow|typical:2|difference|of it|:t1", c.Parts,
		func(t *table, p *correlate.PartDifference) {
			of := absent
			drawn := ""
			if c.DifferenceNS > 0 {
				of = units.Percent(p.DifferenceNS / c.DifferenceNS)
				drawn = bar(p.DifferenceNS / c.DifferenceNS)
			}
			t.addLinked(p.Link, p.Operation, p.Kind, p.Label(ranks), units.DurationFloat(p.SlowNS),
				units.DurationFloat(p.TypicalNS), units.DurationFloat(p.DifferenceNS), of, drawn)
		})
	v.open(linked{"the slowest", c.Slow.Link}, linked{"a typical one", c.Typical.Link}, linked{"both compared", c.Link})
}

// ids returns the cells of ids, "" for a row with a link.
func ids(link correlate.Link, trace op.TraceID, span op.SpanID) (traceText, spanText string) {
	if link != "" {
		return "", ""
	}
	return idText(trace), idText(span)
}

// largest returns the most largest rows, and the title with their number.
func largest[T any](rows []T, most int, title, which string, size func(*T) int64) ([]T, string) {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b T) int { return cmp.Compare(size(&b), size(&a)) })
	if len(rows) > most {
		title += fmt.Sprintf(", the %s %d of %s", which, most, units.Count(int64(len(rows))))
		sorted = sorted[:most]
	}
	return sorted, title
}

func (v *correlation) requests() {
	if len(v.c.Requests) == 0 || v.Top <= 0 {
		return
	}
	slowest, title := largest(v.c.Requests, v.Top, "REQUESTS", "slowest", func(r *correlate.Request) int64 {
		return r.DurationNS.V
	})
	v.heading(title)
	const columns = "request:n|service:n7|start:t5|duration|operations:4|shared:6|uncovered:1|queued:3|mostly:n2" +
		"|error:n4|not in jaeger:3|not local:3|trace:t10|span:t11"
	show(&v.page, columns, slowest, func(t *table, r *correlate.Request) {
		share := func(ns op.Int) string { return known(ns, func(ns int64) string { return part(ns, r.DurationNS.V) }) }
		trace, span := ids(r.Link, r.TraceID, r.RootSpanID)
		t.addLinked(r.Link, r.Root, r.Service, known(r.StartNS, startText), knownDuration(r.DurationNS),
			units.Count(r.Ops), sharedTime(r.SharedNS, r.SharedOps), share(r.UncoveredNS),
			nonZero(r.QueuedNS, func(ns int64) string { return part(ns, r.DurationNS.V) }), mostly(r), failure(r.Failed, r.Error, r.Errors), nonZero(r.MissingInJaeger, units.Count),
			nonZero(r.MissingOpsLocally, units.Count), trace, span)
	})
}

// failure names the most frequent error of operations, "out of memory in matmul, 2 more", or else the request's own.
func failure(failed bool, text string, errors []profile.Error) string {
	if len(errors) == 0 {
		if failed {
			return errorText(text)
		}
		return ""
	}
	first := max(0, slices.IndexFunc(errors, func(e profile.Error) bool { return e.Text != "" }))
	cell := errorText(errors[first].Text) + " in " + errors[first].Operation
	more := int64(-1)
	for i := range errors {
		more += errors[i].Count
	}
	if text != "" && text != errors[first].Text { // its own comes first
		cell = text + "; " + cell
	}
	return cell + ifAny(more, ", "+units.Count(more)+" more")
}

// sharedTime formats the time in operations of shared executions.
func sharedTime(ns, ops int64) string {
	return nonZero(ops, func(n int64) string { return units.Duration(ns) + " (" + units.Count(n) + ")" })
}

func (v *correlation) shared() {
	if len(v.c.Shared) == 0 || v.Top <= 0 {
		return
	}
	shown, title := largest(v.c.Shared, v.Top, "SHARED EXECUTIONS", "largest", func(e *correlate.Shared) int64 {
		return e.SumNS
	})
	v.heading(title)
	const columns = "execution:n|service:n5|start:t3|duration|links:4|requests:1|operations:2|sum|error:n3|trace:t6" +
		"|span:t7"
	show(&v.page, columns, shown, func(t *table, e *correlate.Shared) {
		trace, span := ids(e.Link, e.TraceID, e.SpanID)
		t.addLinked(e.Link, e.Name, e.Service, known(e.StartNS, startText), units.Duration(e.DurationNS),
			units.Count(e.Links), units.Count(e.Requests), units.Count(e.Ops), units.Duration(e.SumNS),
			failure(false, "", e.Errors), trace, span)
	})
	sums := make(map[string]int64)
	for i := range v.c.Shared {
		for _, d := range v.c.Shared[i].DividedBy {
			sums[d.Law] += d.TimeNS
		}
	}
	parts := []string{"the time of their operations is divided among the requests that they link to"}
	for _, law := range laws {
		if ns := sums[law.name]; ns > 0 {
			parts = append(parts, units.Duration(ns)+law.text)
		}
	}
	v.note(strings.Join(parts, "; "))
}

// laws describes the ways to divide time among requests.
var laws = []struct{ name, text string }{
	{requests.LawAttention, " of attention by the links' weights for it"}, {requests.LawWeight, " by their weights"},
	{requests.LawEqual, " equally"},
}

// mostly names the largest part of a request's critical path.
func mostly(r *correlate.Request) string {
	if len(r.CriticalPath) == 0 || r.DurationNS.V <= 0 {
		return absent
	}
	p := &r.CriticalPath[0]
	return fmt.Sprintf("%.0f %% %s", float64(p.TimeNS)/float64(r.DurationNS.V)*100, p.Operation)
}

func (v *correlation) unattached() {
	if v.c.UnattachedOps == 0 {
		return
	}
	v.heading("UNATTACHED")
	belong := " belong"
	if v.c.UnattachedOps == 1 {
		belong = " belongs"
	}
	v.note(units.Plural(v.c.UnattachedOps, "operation") + belong + " to no request")
	shown := v.c.Unattached[:min(len(v.c.Unattached), max(0, v.Top))]
	if len(shown) == 0 {
		return
	}
	show(&v.page, "operation:n|kind:t3|device:n1|duration|start:t2|trace:t4|span:t5", shown,
		func(t *table, o *correlate.Op) {
			trace, span := ids(o.Link, o.TraceID, o.SpanID)
			t.addLinked(o.Link, o.Operation, o.Kind, o.Label(true), units.Duration(o.DurationNS),
				known(o.StartNS, startText), trace, span)
		})
}
