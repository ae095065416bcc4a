package findings

import (
	"cmp"
	"strings"

	"github.com/optrace/optrace/analyze/findings/internal/executions"
	"github.com/optrace/optrace/analyze/findings/internal/uneven"
	"github.com/optrace/optrace/analyze/internal/chance"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// replicas finds an engine that is slower than others with the same operations for the same load, or that gets more
// requests than they.
func (l *list) replicas() (all []candidate) {
	if l.Replay == nil || !l.byRequest {
		return nil
	}
	of := l.equals()
	if len(of) < 2 {
		return nil
	}
	sums := func(values func(r *replay.Replica) *[16]int64) (at int, times, p float64) {
		blocks := make([][]int64, len(of[0].Requests))
		var own []int64
		all := int64(0)
		for i := range of {
			sum := int64(0)
			for b, v := range values(&of[i]) {
				blocks[b] = append(blocks[b], v)
				sum += v
			}
			own = append(own, sum)
			all += sum
		}
		at, p = chance.Largest(blocks)
		return at, uneven.Times(own[at], all, int64(len(of))), p
	}
	where := func(r *replay.Replica) Where { return whereDevice("balance", r.Key) }
	label := func(r *replay.Replica) string {
		if r.Key.Service == "" && r.Key.Host == "" && r.Service != "" {
			return named(r.Service) + " " + l.label(r.Key)
		}
		return l.label(r.Key)
	}
	if at, slower, p := sums(func(r *replay.Replica) *[16]int64 { return &r.Slower }); slower >= uneven.Ratio && p <= maxChance {
		r := &of[at]
		others := units.Plural(int64(len(of)-1), "engine") + " like it for the same load"
		if r.IsWorker {
			others = strings.TrimPrefix(units.Plural(int64(len(of)-1), "other worker"), "1 ")
			others += " of its queue for the same operations"
		}
		f := says(Straggler, where(r), "%s takes %s times as long as the %s, chance %s.", label(r), ratio(slower), others,
			chance.Text(p))
		f.Chance = op.KnownFloat(p)
		f.Evidence = []Evidence{about("device", r.Label(true)), figure("times the time of the others", slower, "ratio")}
		f.Try = "compare its clocks, temperature and neighbours with those of the others"
		selection := "kind=compute," + selectsOn(r.Key)
		faster := replay.Change{Kind: replay.Scale, Select: selection, Factor: 1 / slower}
		all = append(all, candidate{Finding: f, changes: []replay.Change{faster}})
	}
	if at, more, p := sums(func(r *replay.Replica) *[16]int64 { return &r.Requests }); more >= uneven.Ratio && p <= maxChance {
		r := &of[at]
		f := says(Imbalance, where(r), "%s gets %s times as many requests as the %s like it, chance %s.", label(r), ratio(more),
			units.Plural(int64(len(of)-1), "engine"), chance.Text(p))
		f.Rule = "imbalance"
		f.Chance = op.KnownFloat(p)
		f.Evidence = []Evidence{about("device", r.Label(true)), figure("times the requests of the others", more, "ratio")}
		f.Try = "send requests to the engine with the fewest, or in turn"
		all = append(all, candidate{Finding: f, changes: change(replay.Balance, replay.EvenRequests)})
	}
	return all
}

// lastToAnswer finds a service that calls at the same time wait for.
func (l *list) lastToAnswer() []candidate {
	const few = 20
	if !l.byRequest {
		return nil
	}
	x := executions.LastOf(l.Forest)
	if x == nil || x.Count < few || x.Times < uneven.Ratio || !l.enough(x.NS) {
		return nil
	}
	f := says(Straggler, Where{Section: "critical_path", Operation: x.Span},
		"%s answers last in %s of %s at the same time: %s takes %s times the median of the others.", cmp.Or(x.Device, named(x.Service)),
		units.Count(x.LastIn), units.Plural(x.Count, "group")+" of calls", l.named(x.Span), ratio(x.Times))
	f.Evidence = []Evidence{
		about("service", x.Service), times("last", x.LastIn), times("groups", x.Count), lasts("behind the others", x.NS),
		figure("times the others", x.Times, "ratio"),
	}
	f.Try = "compare its host, its load and its neighbours with those of the others"
	if x.Work >= uneven.Ratio {
		f.Kind, f.Rule = Imbalance, "imbalance"
		f.Evidence = append(f.Evidence, figure("times their output elements", x.Work, "ratio"))
		f.Try = "divide its work: it has " + ratio(x.Work) + " times the output elements of the others"
	}
	return []candidate{{Finding: f, saving: replay.Saving{NS: x.NS, HighNS: x.NS}, atMost: true}}
}

// network finds time of requests on the way between services.
func (l *list) network() []candidate {
	if !l.byRequest {
		return nil
	}
	var n, ns int64
	calls := l.betweenServices()
	for _, c := range calls {
		n += c.Count
		ns += c.NS
	}
	if !l.enough(ns) {
		return nil
	}
	most := calls[0]
	f := says(HostGap, Where{Section: "critical_path"},
		"Requests are %s on the way between services, in %s: %s each, mostly from %s to %s.", l.part(ns),
		units.Plural(n, "call"), units.Duration(ns/n), named(most.From), named(most.To))
	f.Evidence = []Evidence{
		times("calls", n), lasts("between services", ns), about("from", most.From), about("to", most.To),
		lasts("between these two", most.NS),
	}
	f.Try = "measure the network between them: connections that stay open, fewer bytes, services nearby; a full server accepts late"
	return []candidate{{Finding: f, saving: replay.Saving{NS: ns, HighNS: ns}, atMost: true}}
}
