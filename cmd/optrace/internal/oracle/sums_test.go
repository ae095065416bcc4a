package oracle_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/otlpprofiles"
	"github.com/optrace/optrace/render/pprof"
)

// summed is an operation, or a span if it has no kind; ids are 0 for none.
type summed struct {
	name, device, service      string
	kind                       op.Kind
	host                       bool
	trace, id, parent, startBy byte   // startBy is the operator that launched it
	launchedBy                 string // and the name of that
	rank, start, bytes, flops  op.Int
	duration                   int64
}

// summedRecords are the records of an input, in its order. None lies above itself.
type summedRecords []summed

func randomSummed(r *rand.Rand) (list summedRecords) {
	pick := func(names ...string) string { return names[r.IntN(len(names))] }
	maybe := func(n int64) (v op.Int) {
		if r.IntN(8) > 0 {
			v = op.Known(n)
		}
		return v
	}
	ranks := r.IntN(2) == 0
	for i := range 1 + r.IntN(30) {
		s := summed{
			name: pick("fused_a", "fused_b", "x\ny;z"), trace: byte(1 + r.IntN(8)/7), id: byte(i + 1), parent: byte(r.IntN(i + 1)),
			start: maybe(r.Int64N(60)), duration: r.Int64N(60),
		}
		if r.IntN(10) == 0 {
			s.parent = 99
		}
		if r.IntN(4) > 0 {
			s.kind, s.device, s.host = op.KindCompute+op.Kind(r.IntN(3)), pick("", "cuda:0", "cuda:1"), r.IntN(3) == 0
			s.bytes, s.flops = maybe(r.Int64N(1000)), maybe(r.Int64N(1000))
			if r.IntN(4) == 0 {
				s.startBy, s.launchedBy = byte(r.IntN(i+1)), pick("", "aten::mm")
			}
		}
		if ranks {
			s.service, s.rank = pick("api", "batch"), op.Known(r.Int64N(2))
		}
		if i > 0 && r.IntN(10) == 0 { // the ids of another one, and perhaps its times
			of := list[r.IntN(i)]
			if s.trace, s.id, s.parent, s.startBy = of.trace, of.id, of.parent, 0; r.IntN(2) == 0 {
				s = of
			}
		}
		list = append(list, s)
	}
	return list
}

func (s *summed) record() op.Record {
	of, id, parent := op.TraceID{15: s.trace}, op.SpanID{7: s.id}, op.SpanID{7: s.parent}
	if s.kind == op.KindUnknown {
		return op.Record{Span: &op.Span{
			Name: s.name, Service: s.service, TraceID: of, SpanID: id, ParentSpanID: parent, Start: s.start, Duration: s.duration,
		}}
	}
	e := &op.Entry{
		Operation: s.name, Kind: s.kind, DeviceID: s.device, Service: s.service, Rank: s.rank, TraceID: of, SpanID: id, ParentSpanID: parent,
		Start: s.start, Duration: s.duration, MemoryBytes: s.bytes, FLOPs: s.flops,
		LaunchSpanID: op.SpanID{7: s.startBy}, LaunchedBy: s.launchedBy,
	}
	if s.host {
		e.Side = op.SideHost
	}
	return op.Record{Entry: e}
}

// isDevices reports whether record i is an operation that a device ran.
func (l summedRecords) isDevices(i int) bool { return l[i].kind != op.KindUnknown && !l[i].host }

// first returns the first record with some ids, -1 for none.
func (l summedRecords) first(trace, id byte) int {
	return slices.IndexFunc(l, func(s summed) bool { return s.trace == trace && s.id == id })
}

// again reports whether the ids of record i are those of an earlier one, and repeats whether its times are too.
func (l summedRecords) again(i int) (again, repeats bool) {
	for _, s := range l[:i] {
		if s.trace == l[i].trace && s.id == l[i].id {
			again = true
			repeats = repeats || s.start == l[i].start && s.duration == l[i].duration && s.host == l[i].host &&
				(s.kind == op.KindUnknown) == (l[i].kind == op.KindUnknown)
		}
	}
	return again, repeats
}

// above returns the records above record i, from its parent on.
func (l summedRecords) above(i int) (list []int) {
	if again, _ := l.again(i); again {
		return nil
	}
	if p := l.first(l[i].trace, l[i].parent); p >= 0 {
		return append([]int{p}, l.above(p)...)
	}
	return nil
}

// below returns the nearest records below record i of which something holds.
func (l summedRecords) below(i int, holds func(int) bool) (list []int) {
	if again, _ := l.again(i); again {
		return nil
	}
	for c := range l {
		if above := l.above(c); len(above) == 0 || above[0] != i {
			continue
		} else if holds(c) {
			list = append(list, c)
		} else {
			list = append(list, l.below(c, holds)...)
		}
	}
	return list
}

// launcher returns the operator of the host that launched record i, -1 where none was read.
func (l summedRecords) launcher(i int) int {
	if host := l.first(l[i].trace, l[i].startBy); host >= 0 && l[host].host {
		return host
	}
	for _, a := range l.above(i) {
		if l[a].host {
			return a
		}
	}
	return -1
}

// frames returns the names above and of record i, and the last device among them.
func (l summedRecords) frames(i int, ranks bool) (names []string, device string) {
	s, above := &l[i], l.above(i)
	again, _ := l.again(i)
	outermost := l.isDevices(i) && !again && !slices.ContainsFunc(above, l.isDevices)
	host := l.launcher(i)
	if outermost && host >= 0 && !slices.Contains(above, host) && !slices.ContainsFunc(l.above(host), l.isDevices) {
		above = []int{host}
	}
	if len(above) > 0 {
		names, device = l.frames(above[0], ranks)
	}
	if outermost && host < 0 && s.launchedBy != "" {
		names = append(names, s.launchedBy)
	}
	if label := l.device(i, ranks); label != "" && label != device {
		names, device = append(names, label), label
	}
	return append(names, s.name), device
}

// device returns the device of record i as reports show it, "" for none.
func (l summedRecords) device(i int, ranks bool) string {
	switch {
	case !l.isDevices(i) || l[i].device == "":
		return ""
	case ranks:
		return fmt.Sprintf("%d/%s", l[i].rank.V, l[i].device)
	}
	return l[i].device
}

// values returns what operation i took: time, self, count, bytes, flops.
func (l summedRecords) values(i int) (v [5]int64) {
	s := &l[i]
	v = [5]int64{s.duration, s.duration, 1, s.bytes.V, s.flops.V}
	for _, c := range l.below(i, l.isDevices) {
		v[0] = max(0, v[0]-l[c].duration)
	}
	below := l.below(i, func(c int) bool { return l[c].kind != op.KindUnknown })
	for at := range s.duration {
		if s.start.Known && slices.ContainsFunc(below, func(c int) bool {
			b := &l[c]
			return b.start.Known && b.start.V <= s.start.V+at && s.start.V+at < b.start.V+b.duration
		}) {
			v[1]--
		}
	}
	return v
}

// sums adds up operations by producer, if these are told apart, by device, kind and stack from the leaf up.
func (l summedRecords) sums(producers bool) map[string][5]int64 {
	all, ranks := make(map[string][5]int64), make(map[op.Int]bool)
	for i := range l {
		if l.isDevices(i) {
			ranks[l[i].rank] = true
		}
	}
	for i := range l {
		if _, repeats := l.again(i); repeats || !l.isDevices(i) {
			continue
		}
		names, _ := l.frames(i, len(ranks) > 1)
		slices.Reverse(names)
		key := fmt.Sprintf("%s %s %s", l.device(i, len(ranks) > 1), l[i].kind, strings.ReplaceAll(fmt.Sprintf("%q", names), `\n`, " "))
		if producers {
			key = fmt.Sprintf("%s %d %s", l[i].service, l[i].rank.V, key)
		}
		add(all, key, l.values(i))
	}
	return all
}

func add(all map[string][5]int64, key string, v [5]int64) {
	sum := all[key]
	for k := range v {
		sum[k] += v[k]
	}
	all[key] = sum
}

// The samples of both formats, by stack, add up to what a naive program makes of the records.
func TestProfileSumsAgainstNaive(t *testing.T) {
	samples := 0
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		list, f := randomSummed(r), trace.New()
		var resources []*op.Resource
		for i, s := range list {
			f.Add(s.record())
			if list.isDevices(i) {
				resources = append(resources, &op.Resource{Service: s.service, Rank: s.rank})
			}
		}
		table := stacks.Of(f)
		got, p := make(map[string][5]int64), pprofOf(t, table, pprof.Options{})
		for _, s := range p.Sample {
			var names []string
			for _, location := range s.Location {
				names = append(names, location.Line[0].Function.Name)
			}
			var v [5]int64
			for k, n := range s.Value {
				v[slices.Index(kinds, p.SampleType[k].Type)] = n
			}
			add(got, fmt.Sprintf("%s %s %q", strings.Join(s.Label["device"], " "), s.Label["kind"][0], names), v)
			samples++
		}
		check.Equal(t, fmt.Sprintf("seed %d: pprof", seed), list.sums(false), got)

		got = make(map[string][5]int64)
		for _, s := range samplesOf(profilesOf(t, table, otlpprofiles.Options{Producers: producers(resources...)})) {
			service, _ := s.resource["service.name"].(string)
			rank, _ := s.resource["tensor.rank"].(int64)
			var v [5]int64
			v[slices.Index(kinds, s.kind)] = s.value
			add(got, fmt.Sprintf("%s %d %s %s %q", service, rank, s.attributes["tensor.device.id"], s.attributes["tensor.op.kind"], s.names), v)
		}
		check.Equal(t, fmt.Sprintf("seed %d: OTLP profiles", seed), list.sums(true), got)
	})
	if samples == 0 {
		t.Error("nothing was compared")
	}
}
