package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/findings/internal/hostcalls"
	"github.com/optrace/optrace/analyze/findings/internal/kernels"
	"github.com/optrace/optrace/analyze/findings/internal/links"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// communications are the operations of devices of one kind of communication, the longest first.
type communications struct {
	rows         []*profile.Operation
	n, ns, bytes int64
	whole        bool // all communication
}

func (c *communications) add(o *profile.Operation) {
	c.rows = append(c.rows, o)
	c.n += o.Count
	c.ns += o.SumNS
	c.bytes += o.MemoryBytes.V
}

// named returns the first names.
func (c *communications) named(l *list) string {
	var names []string
	for _, o := range c.rows[:min(2, len(c.rows))] {
		names = append(names, l.named(o.Operation))
	}
	return strings.Join(names, ", ")
}

// communication finds collectives, sends and receives without computation beside them.
func (l *list) communication() []candidate {
	const much = 8 // percent
	var collectives, sends, receives communications
	all, known := l.transfersOf()
	for i := range l.Operations {
		o := &l.Operations[i]
		switch name := l.transferName(o.Operation); {
		case o.Side != "" || o.Kind != op.KindCollective.String():
		case known && (collective.IsSend(name) || collective.IsReceive(name)):
		case collective.IsSend(name):
			sends.add(o)
		case collective.IsReceive(name):
			receives.add(o)
		default:
			collectives.add(o)
		}
	}
	ns, waits := collectives.ns+sends.ns+receives.ns, int64(0)
	for i := range l.Lateness {
		waits += l.Lateness[i].WaitNS
	}
	for _, kind := range []struct {
		*communications
		find func(*communications, Finding) []candidate
	}{{&collectives, l.collectives}, {&sends, l.sends}, {&receives, l.receives}} {
		exposed := l.by.CommunicationNS
		if kind.whole = kind.ns == ns; !kind.whole {
			exposed = int64(float64(exposed) * float64(kind.ns) / float64(ns))
		}
		if kind.n == 0 || exposed*100 < much*l.whole*l.devicesNum {
			continue
		}
		f := says(Operation, Where{Section: "communication"}, "%s exposed in %s: nothing computes meanwhile.",
			l.each(l.part(exposed/l.devicesNum)), kind.named(l))
		f.Evidence = []Evidence{times("calls", kind.n), lasts("time", kind.ns/l.devicesNum)}
		for _, c := range kind.find(kind.communications, f) {
			if exposed*10 < l.whole*l.devicesNum && c.Rule != "small_collectives" {
				c.changes, c.saving = nil, replay.Saving{Known: true}
			}
			c.behind, c.exposed = kind.changes(replay.Remove), (exposed-waits)/l.devicesNum
			all = append(all, c)
		}
	}
	return all
}

// knowsTransfers reports whether the recording has pairs of sends and receives, and launches of the host. Without them
// the replay misses other reasons of a stage to wait.
func (l *list) knowsTransfers() bool {
	return l.Forest != nil && l.Launches.Count > 0 && len(collective.Transfers(l.Forest)) > 0
}

// transferName returns the name of the collective of an operation, or else of the operation itself.
func (l *list) transferName(operation string) string {
	return cmp.Or(l.transfers()[operation], operation)
}

// findTransfers returns the names of collectives by operation.
func (l *list) findTransfers() map[string]string {
	names := make(map[string]string)
	if f := l.Forest; f != nil {
		for _, c := range f.Collectives {
			names[f.RowName(c.Row)] = f.Names.Collectives.Values[c.Name].Name
		}
	}
	return names
}

func (l *list) collectives(c *communications, f Finding) []candidate {
	f.Text += l.spread
	f.Evidence[0].Name = "collectives"
	f.Try = "start collectives while the backward pass computes"
	isPair := func(o *profile.Operation) bool { return strings.Contains(o.Operation, "SendRecv") && l.isTransfer(o) }
	rounds := l.rounds() * l.devicesNum
	switch {
	case !slices.ContainsFunc(c.rows, func(o *profile.Operation) bool { return !isPair(o) }):
		f.Try = "exchange data on a stream of its own while the device computes"
	case rounds > 0 && c.n/rounds > 100 && c.n > 0 && c.bytes/c.n < 1<<20:
		f.Rule = "small_collectives"
		f.Try = "larger buckets: " + units.Count(c.n/rounds) + " collectives a step are small"
	}
	if c.bytes > 0 && c.ns > 0 {
		f.Evidence = append(f.Evidence, figure("rate", float64(c.bytes)/float64(c.ns)*1e9, "B/s"))
	}
	if n := l.microSteps(); n > 1 {
		f.Text += fmt.Sprintf(" They run in each of %d backward passes of a step, and only the last one needs them.", n)
		f.Try = "accumulate gradients without reducing them: no_sync() around all but the last backward pass of a step"
		all := candidate{Finding: f, changes: c.changes(replay.Remove)}
		if s := &all.saving; l.replay(s, all.changes) {
			s.NS, s.LowNS, s.HighNS = s.NS-s.NS/n, s.LowNS-s.LowNS/n, s.HighNS-s.HighNS/n
			return []candidate{all}
		}
	}
	if (l.byRequest || kernels.AreOfEngine(l.Operations)) && 2*collective.Needed(l.Forest) > 1 { // each layer of a server needs them: only their transfers can be shorter
		f.Try = "an all-reduce for small messages, steps as graphs, or fewer devices for a copy of the model"
		return []candidate{{Finding: f, changes: c.changes(replay.Scale), atMost: true}}
	}
	return l.overlapped(c, f, c.n/max(1, l.rounds()*int64(len(l.Extent.Devices))))
}

// microSteps returns the number of forward passes of a step, if collectives follow nearly all of them, else 0.
func (l *list) microSteps() int64 {
	if l.Forest == nil || l.rounds() == 0 {
		return 0
	}
	n, reduced := hostcalls.Forwards(l.Forest)
	if 10*reduced < 9*n {
		return 0
	}
	return n / (l.rounds() * l.devicesNum)
}

// isTransfer reports whether only the name of a kernel tells its kind of transfer: a send, a receive or an exchange
// of all ranks.
func (l *list) isTransfer(o *profile.Operation) bool {
	return l.transferName(o.Operation) == o.Operation
}

// sends advises to send without waiting. A rank has its data before the peer receives them.
func (l *list) sends(c *communications, f Finding) []candidate {
	f.Evidence[0].Name = "sends"
	f.Try = "send without waiting, while the next microbatch computes"
	return []candidate{{Finding: f, changes: c.changes(replay.Overlap), atMost: true}}
}

// findUnevenDevices finds stragglers. Of a stage of a pipeline with more work, the others wait for what it has above the mean,
// without the part of one microbatch: the first and the last one of a step wait for no other.
func (l *list) findUnevenDevices() []candidate {
	all := l.stragglers()
	n := l.microbatches()
	if n <= 1 || l.knowsTransfers() || l.late != nil || len(all) == 0 || all[0].Kind != Imbalance || len(all[0].changes) == 0 {
		return all
	}
	most := l.mostWork()
	mean := -most.NS
	for _, ns := range most.BlockNS {
		mean += ns
	}
	even := mean + mean*(l.devicesNum-1)/n // of equal stages, with the pipeline's start and end
	ns := min(most.NS*(n-1)/n, l.whole-even)
	all[0].changes = nil
	all[0].saving = replay.Saving{NS: ns, LowNS: ns / 2, HighNS: most.NS}
	return all
}

// microbatches returns how many microbatches the stages of a pipeline send each other in a step, by the number of their
// sends and receives: each goes forward and back between two stages. It is 0 where most communication is of another kind.
func (l *list) microbatches() int64 {
	var n, ns, others int64
	for i := range l.Operations {
		o := &l.Operations[i]
		name := l.transferName(o.Operation)
		switch isSide := collective.IsSend(name) || collective.IsReceive(name); {
		case o.Side != "" || o.Kind != op.KindCollective.String():
		case isSide:
			n += o.Count
			ns += o.SumNS
		default:
			others += o.SumNS
		}
	}
	if 2*others > ns {
		return 0
	}
	return n / max(1, 4*(l.devicesNum-1)*max(1, l.rounds()))
}

// receives finds receives of a late peer, by their time beyond the shortest of the same name. Equally long receives
// may be a slow link and are no finding.
func (l *list) receives(c *communications, f Finding) []candidate {
	var waits int64
	for _, o := range c.rows {
		waits += o.SumNS - o.Count*o.MinNS
	}
	if !l.enough(waits / l.devicesNum) {
		return nil
	}
	f.Text += " They wait " + l.part(waits/l.devicesNum) + " for what the other side computes."
	f.Evidence[0].Name = "receives"
	f.Evidence = append(f.Evidence, lasts("waiting", waits/l.devicesNum))
	f.Try = "give the pipeline's stages equal work, or the pipeline more microbatches a step"
	changes := c.changes(replay.Scale)
	for i := range changes {
		changes[i].Factor = 1 - float64(waits)/float64(c.ns)
	}
	isUneven := slices.ContainsFunc(l.unevenDevices(), func(s candidate) bool { return s.Kind == Imbalance })
	return []candidate{{Finding: f, changes: changes, atMost: true, isEffect: isUneven}}
}

// changes returns the change of each operation, or of all communication.
func (c *communications) changes(kind replay.Kind) (all []replay.Change) {
	if c.whole {
		return change(kind, "kind=collective")
	}
	for _, o := range c.rows[:min(maxChanges, len(c.rows))] {
		all = append(all, replay.Change{Kind: kind, Select: o.Operation})
	}
	return all
}

// overlapped returns the candidate that puts the collectives c of a step on a stream of their own. If what follows
// needs the data of all, an earlier start is another program: then some of them stay exposed, and the others hide
// behind the backward pass, two thirds of the computing time.
func (l *list) overlapped(collectives *communications, f Finding, ofStep int64) []candidate {
	const (
		nearly = 0.65
		few    = 3 // of a step
	)
	var over, removed replay.Saving
	c := candidate{Finding: f, changes: collectives.changes(replay.Overlap)}
	if !l.replay(&over, c.changes) || !l.replay(&removed, collectives.changes(replay.Remove)) {
		return []candidate{c}
	}
	use := l.links()
	isFew := ofStep > 0 && ofStep <= few && l.areReductions(collectives)
	needed := !isFew && 2*collective.Needed(l.Forest) > 1
	isSmall := f.Rule != "" && !needed && use.IsSlow() // in larger buckets they are faster
	if !isSmall && float64(over.NS) >= nearly*float64(removed.NS) {
		return []candidate{c}
	}
	hidden := min(removed.NS, l.by.ComputeNS/l.devicesNum*2/3)
	// nothing or too little is there to hide them behind
	isSlow := use.IsSlow() && (needed || 2*hidden < removed.NS)
	switch isHidden := l.hidesCollectives(); {
	case isSlow, isSmall, isHidden && over.NS <= removed.NS/10:
		return []candidate{l.fasterLink(collectives, f, removed)}
	case !isHidden && isFew:
		return []candidate{l.inParts(collectives, f, removed, ofStep)}
	}
	if needed {
		c.Try += "; those of a layer's own data in chunks, beside its matrix products"
	}
	c.changes = nil
	c.atMost = over.NS <= 0
	counts := make(map[string]int64)
	for _, o := range collectives.rows {
		counts[l.transferName(o.Operation)] += o.Count
	}
	stay := links.StayExposed(counts)
	ns := max(over.NS, hidden-hidden*stay/max(stay+1, ofStep))
	exposed := l.by.CommunicationNS / l.devicesNum
	c.saving = replay.Saving{
		NS: ns, LowNS: over.LowNS, HighNS: min(removed.HighNS, max(ns, removed.NS, exposed)), Known: over.Known && removed.Known,
	}
	return []candidate{c}
}

// areReductions reports whether all of c reduce, as gradients are.
func (l *list) areReductions(c *communications) bool {
	return !slices.ContainsFunc(c.rows, func(o *profile.Operation) bool {
		return !strings.Contains(strings.ToLower(l.transferName(o.Operation)), "reduce")
	})
}

// hidesCollectives reports whether devices compute in a tenth of the time of their collectives.
func (l *list) hidesCollectives() bool {
	var hidden, all int64
	for i := range l.Devices {
		hidden += l.Devices[i].OverlapNS.V
		all += l.Devices[i].CommunicationNS.V
	}
	return 10*hidden >= all && all > 0
}

// fasterLink returns the candidate of collectives that run beside the computation and take longer: they save what
// transfers at the link's rate save, and small ones in larger buckets. Without a rate, it is at most all of the time.
func (l *list) fasterLink(collectives *communications, f Finding, removed replay.Saving) candidate {
	const slowest = 0.6 // real links reach 0.6 to 1 of their rate
	u := l.links()
	buckets := 1.0 // as a part of the collectives
	switch c := l.Coverage; {
	case f.Rule != "":
		buckets = min(1, (float64(collectives.bytes)/links.Bucket+float64(l.rounds()*l.devicesNum))/float64(collectives.n))
	case c != nil && c.WorldSize.Known && c.Ranks < c.WorldSize.V:
		f.Try = "record all ranks, as waiting for a slower one looks the same; find out which link they use (NCCL_DEBUG=INFO)"
	default:
		f.Try = "find out which link they use (NCCL_DEBUG=INFO), and send fewer bytes, such as 32-bit gradients in bfloat16"
	}
	if !u.IsSlow() {
		return candidate{Finding: f, saving: removed, atMost: true}
	}
	f.Text += fmt.Sprintf(" Their links carry %s/s of %s/s.", units.Bytes(int64(u.Rate)), units.Bytes(int64(u.Peak)))
	f.Evidence = append(f.Evidence, figure("rate of a link", u.Rate, "B/s"), figure("peak of a link", u.Peak, "B/s"))
	usual := u.Factor(links.Usual, buckets)
	c := candidate{Finding: f, changes: collectives.changes(replay.Scale)}
	for i := range c.changes {
		c.changes[i].Factor = usual
	}
	if buckets < 1 { // the launches of most of them go, too
		c.changes = collectives.changes(replay.Remove)
		c.saving = removed
		c.saving.NS -= int64(float64(removed.NS) * usual)
	} else if !l.replay(&c.saving, c.changes) {
		return c
	}
	part := func(share float64) int64 {
		return int64(float64(c.saving.NS) * (1 - u.Factor(share, buckets)) / max(1e-9, 1-usual))
	}
	c.saving.LowNS = min(c.saving.LowNS, part(slowest))
	c.saving.HighNS = max(c.saving.HighNS, part(1))
	return c
}

// inParts returns the candidate of few reductions behind the backward pass: each runs as soon as the pass has computed its
// gradients, a single one in parts. All but the last one hide behind the rest of the pass, if that takes as long.
func (l *list) inParts(collectives *communications, f Finding, removed replay.Saving, ofStep int64) candidate {
	const most, least = 16, 1 << 20 // bytes
	n := ofStep
	if ofStep == 1 {
		n = most
		if of := collectives.bytes / collectives.n; of > 0 {
			n = min(n, max(2, of/least))
		}
		f.Try = fmt.Sprintf("reduce gradients in %d buckets, each as soon as the backward pass has it: all but the last hide", n)
	}
	c := candidate{Finding: f, changes: collectives.changes(replay.Parts)}
	for i := range c.changes {
		c.changes[i].Factor = float64(n)
	}
	if l.replay(&c.saving, c.changes) {
		c.saving.LowNS = min(c.saving.LowNS, c.saving.NS/2) // transfers slow the computing down, and small ones are slower
		c.saving.HighNS = max(c.saving.HighNS, removed.NS)
	}
	return c
}

// links returns the use of links by collectives.
func (l *list) links() links.Use {
	n := max(int64(len(l.Extent.Devices)), l.Coverage.WorldSize.V)
	return links.Of(l.Collectives, l.Peaks, n, links.Hosts(l.Forest))
}

// transfersOf finds links between two ranks whose transfers take twice as long as on the median link, and last the
// transfers of all links. known reports whether the replay knows which sends and receives belong together: the waits of a
// receive are no time of a link then.
func (l *list) transfersOf() (all []candidate, known bool) {
	const slower = 2
	if !l.knowsTransfers() {
		return nil, false
	}
	pairs, took := links.Pairs(l.Forest, collective.Transfers(l.Forest))
	middle := pairs[len(pairs)/2] // of two, the faster one
	usual := sketch.Median(middle.NS)
	var changes []replay.Change
	for _, p := range pairs[:min(len(pairs), maxChanges/2)] {
		if ns := sketch.Median(p.NS); ns >= slower*max(1, usual) && p.Bytes <= middle.Bytes {
			for i := range p.Ranks {
				changes = append(changes, replay.Change{
					Kind: replay.Scale, Select: fmt.Sprintf("peer=%d,rank=%d", p.Ranks[i], p.Ranks[1-i]),
					Factor: float64(usual) / float64(ns),
				})
			}
		}
	}
	where := Where{Section: "communication"}
	if changes != nil {
		of, ns := pairs[0], sketch.Median(pairs[0].NS)
		slow := says(Operation, where,
			"The link between ranks %d and %d is slow: a transfer takes %s, and %s on the median link.",
			of.Ranks[0], of.Ranks[1], units.Duration(ns), units.Duration(usual))
		slow.Evidence = []Evidence{
			times("transfers", int64(len(of.NS))), lasts("of this link", ns), lasts("of the median link", usual),
		}
		slow.Try = "find out which way the data take between them (NCCL_DEBUG=INFO, nvidia-smi topo -m)"
		all = append(all, candidate{Finding: slow, changes: changes})
	}
	every := says(Operation, where,
		"Sends and receives between ranks take %s each at the median, once both sides have begun.",
		units.Duration(sketch.Median(took)))
	every.Evidence = []Evidence{times("transfers", int64(len(took))), lasts("each", sketch.Median(took))}
	every.Try = "send while the next microbatch computes, fewer bytes, or over a faster link"
	both := append(change(replay.Scale, "collective=send"), change(replay.Scale, "collective=recv")...)
	return append(append(all, l.bubble()...), candidate{Finding: every, changes: both, atMost: true, isGeneral: true}), true
}

// bubble finds pipelines whose stages wait while it fills and drains: for the work of a microbatch of each other stage.
// Little of it is left with four microbatches for each stage (Huang et al., GPipe, 2019). With two of them it is as usual,
// and stages may wait for another cause.
func (l *list) bubble() []candidate {
	const little, usual = 4, 2
	stages, n := collective.Pipelines(collective.Transfers(l.Forest))
	n /= max(1, l.rounds())
	if l.byRequest || n == 0 || n >= little*stages {
		return nil
	}
	work := l.by.ComputeNS / l.devicesNum
	ns := min(work*(stages-1)/n, l.whole-work)
	f := says(Operation, Where{Section: "communication"},
		"Each of %d stages waits %s while the pipeline fills and drains, with %s a step.", stages, l.part(ns),
		units.Plural(n, "microbatch"))
	f.Evidence = []Evidence{times("stages", stages), times("microbatches a step", n), lasts("waits", ns)}
	f.Try = "more and smaller microbatches a step, or an interleaved schedule"
	saving := replay.Saving{NS: ns - ns*n/(little*stages), HighNS: ns}
	return []candidate{{Finding: f, saving: saving, atMost: true, isEffect: n >= usual*stages}}
}
