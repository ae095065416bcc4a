package findings

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/findings/internal/copies"
	"github.com/optrace/optrace/analyze/findings/internal/fusible"
	"github.com/optrace/optrace/analyze/findings/internal/hostcalls"
	"github.com/optrace/optrace/analyze/findings/internal/kernels"
	"github.com/optrace/optrace/analyze/findings/internal/layers"
	"github.com/optrace/optrace/analyze/findings/internal/links"
	"github.com/optrace/optrace/analyze/findings/internal/reach"
	"github.com/optrace/optrace/analyze/internal/selection"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// onDevices returns the operations of devices with a sum of at least minShare of the whole. Requests queue for all work, so a
// share of the work counts for them.
func (l *list) onDevices(kinds ...op.Kind) (rows []profile.Operation) {
	for i := range l.Operations {
		o := &l.Operations[i]
		isKind := slices.ContainsFunc(kinds, func(k op.Kind) bool { return k.String() == o.Kind })
		isPart := l.byRequest && float64(o.SumNS) >= minShare*float64(l.Total.SumNS)
		if o.Side == "" && isKind && (l.enough(o.SumNS/l.devicesNum) || isPart) {
			rows = append(rows, *o)
		}
	}
	return rows
}

// linkRate is the assumed rate of pinned copies of an unknown device, in bytes a second: PCIe 4.
const linkRate = 25e9

// pageableCopies returns the copies from and to pageable memory. Small ones to the host read values, see waits.
func (l *list) pageableCopies() []profile.Operation {
	const small = 1 << 20
	all := slices.DeleteFunc(l.onDevices(op.KindMemory), func(o profile.Operation) bool {
		isRead := strings.Contains(o.Operation, "DtoH") && o.MemoryBytes.V < small*o.Count
		rate := float64(o.MemoryBytes.V) / float64(max(1, o.SumNS)) * 1e9
		return !strings.Contains(o.Operation, "Pageable") || isRead || rate <= 0 || rate >= linkRate
	})
	return all[:min(len(all), maxChanges/2)]
}

// slowCopies finds copies from and to pageable memory, and copies without computation beside them.
func (l *list) slowCopies() (all []candidate) {
	var sum profile.Operation
	var changes []replay.Change
	isResult := func(o profile.Operation) bool { // of the steps of an engine
		return l.byRequest && len(l.Forest.Executions.List) > 0 && strings.Contains(o.Operation, "DtoH")
	}
	pageable := slices.DeleteFunc(l.pageableCopies(), isResult)
	for _, o := range pageable {
		sum.Operation = cmp.Or(sum.Operation, o.Operation)
		sum.Count += o.Count
		sum.SumNS += o.SumNS
		sum.MemoryBytes.V += o.MemoryBytes.V
		changes = append(changes, replay.Change{Kind: replay.Rate, Select: o.Operation, Factor: linkRate})
		if strings.Contains(o.Operation, "DtoH") { // the host needs the data
			continue
		}
		for _, name := range append(hostcalls.WaitsAfter(l.Forest, o.Operation), o.Operation) {
			changes = append(changes, replay.Change{Kind: replay.NoWait, Select: name})
		}
	}
	says := func(o *profile.Operation, format string, args ...any) Finding {
		f := says(Copies, Where{Section: "memory", Operation: o.Operation}, format, args...)
		f.Evidence = []Evidence{times("copies", o.Count), lasts("time", o.SumNS)}
		if rate := float64(o.MemoryBytes.V) / float64(max(1, o.SumNS)) * 1e9; rate > 0 {
			f.Evidence = append(f.Evidence, figure("rate", rate, "B/s"))
		}
		return f
	}
	if changes != nil {
		f := says(&sum, "Pageable copies: %s of %s run at %s/s.", units.Plural(sum.Count, "copy"),
			units.Bytes(sum.MemoryBytes.V), units.Bytes(int64(float64(sum.MemoryBytes.V)/float64(sum.SumNS)*1e9)))
		f.Try = "pin the host's memory, and copy without blocking on a stream of its own"
		if 2*l.by.MemoryNS >= l.whole*l.devicesNum && copies.ThereAndBack(pageable) {
			f.Try = "leave the data on the device from kernel to kernel: they go there and come back; or pin the host's memory"
		}
		all = append(all, candidate{Finding: f, changes: changes})
	}
	handOvers := copies.HandOvers(l.Forest)
	link := cmp.Or(links.Peak(l.Peaks), linkRate)
	for _, o := range l.onDevices(op.KindMemory) {
		isPageable := slices.ContainsFunc(pageable, func(p profile.Operation) bool { return p.Operation == o.Operation })
		rate := float64(o.MemoryBytes.V) / float64(max(1, o.SumNS)) * 1e9
		switch {
		case strings.Contains(o.Operation, "PtoP") && rate > 0 && rate < links.Slow*link:
			f := says(&o, "%s between devices run at %s/s, and the link carries %s/s.", units.Plural(o.Count, "copy"),
				units.Bytes(int64(rate)), units.Bytes(int64(link)))
			f.Rule = "copy_overlap"
			f.Try = "find out which way the data take (nvidia-smi topo -m), and keep layers that exchange data on one device"
			all = append(all, candidate{
				Finding: f, changes: []replay.Change{{Kind: replay.Rate, Select: o.Operation, Factor: link}}, atMost: true,
			})
		case isPageable, copies.IsMigration(o.Operation), slices.ContainsFunc(handOvers, func(h copies.HandOver) bool {
			return l.byRequest && !h.IsSpan && h.Name == o.Operation
		}):
		case isResult(o):
			f := says(&o, "Steps copy results to the host: %s take %s.", units.Plural(o.Count, "copy"), units.Duration(o.SumNS))
			f.Try = "sample on the device, and copy the tokens only"
			c := candidate{Finding: f, changes: change(replay.Remove, o.Operation), atMost: true}
			if gaps := l.engineHost(); len(gaps) > 0 && gaps[0].changes[0].Kind == replay.Host {
				c.Text += " The host works on them while the engine is idle."
				c.changes = append(c.changes, gaps[0].changes...)
			}
			all = append(all, c)
		case 20*l.by.MemoryNS >= l.whole*l.devicesNum:
			f := says(&o, "%s keeps the device from computing: %s take %s.", l.named(o.Operation),
				units.Plural(o.Count, "copy"), l.part(o.SumNS/l.devicesNum))
			f.Rule = "copy_overlap"
			f.Try = "copy on a stream of its own while the device computes, or leave the data on the device"
			kind := replay.Overlap
			if l.by.MemoryNS > 2*l.by.ComputeNS { // little of it fits beside the computation
				f.Try = "leave the data on the device, such as weights that are copied again and again"
				kind = replay.Remove
			}
			c := candidate{Finding: f, changes: change(kind, o.Operation), atMost: true}
			if !l.byRequest {
				c.most = o.SumNS / l.devicesNum
			}
			all = append(all, c)
		}
	}
	return append(all, l.handOvers(handOvers)...)
}

// handOvers finds transfers of requests from engine to engine.
func (l *list) handOvers(of []copies.HandOver) (all []candidate) {
	for i := range of {
		h := &of[i]
		if !l.byRequest || !l.enough(h.NS) {
			continue
		}
		f := says(Copies, Where{Section: "memory", Operation: h.Name}, "Requests wait for %s between their executions: %s.",
			l.named(h.Name), h.Text())
		f.Rule = "copy_overlap"
		f.Evidence = []Evidence{times("copies", h.Calls), times("requests", h.Requests), lasts("time", h.NS)}
		if h.Bytes > 0 {
			f.Evidence = append(f.Evidence, Evidence{"bytes", h.Bytes, "B"}, figure("rate", h.Rate(), "B/s"))
		}
		f.Try = "a faster link or fewer bytes; send the layers that are ready while the others are computed"
		if h.IsSpan {
			f.Where.Section = "critical_path"
		}
		all = append(all, candidate{Finding: f, changes: change(replay.Remove, h.Name), atMost: true})
	}
	return all
}

// tensorCores finds products and convolutions of 32-bit numbers without tensor cores.
func (l *list) tensorCores() []candidate {
	if !l.hasTensorCores() {
		return nil
	}
	p := kernels.PlainProducts(l.Operations)
	if p.Count == 0 {
		return nil
	}
	var changes []replay.Change
	for i := range p.List[:min(len(p.List), maxChanges)] {
		x := &p.List[i]
		changes = append(changes, replay.Change{Kind: replay.Scale, Select: x.Name, Factor: x.OnTensorCores(l.Peaks)})
	}
	name := p.List[0].Name
	f := says(Operation, Where{Section: "operations", Operation: name},
		"Tensor cores unused: %s multiply 32-bit numbers on plain cores for %s%s, such as %s.",
		units.Plural(p.Count, "operation"), l.part(p.NS/l.devicesNum), p.Rate, l.named(name))
	f.Evidence = []Evidence{about("kernel", name), times("operations", p.Count), lasts("time", p.NS)}
	f.Try = "allow TF32, or use bfloat16 or float16 (automatic mixed precision)"
	hasTF32 := func(d peaks.Device) bool { return d.TF32FLOPsPerSecond > 0 }
	if len(l.Peaks) > 0 && !slices.ContainsFunc(l.Peaks, hasTF32) || len(l.Peaks) == 0 && !l.mayHave(peaks.HasTF32) ||
		len(l.Input.Models) == 0 && p.IsBeforeTF32 {
		f.Try = "use float16 (automatic mixed precision)"
	}
	c := candidate{Finding: f, changes: changes, most: p.NS / l.devicesNum}
	if l.replay(&c.saving, changes) { // as tensor cores reach 0.5 to 0.9 of their peak
		c.saving.LowNS = min(c.saving.LowNS, c.saving.NS*9/10)
		c.saving.HighNS = max(c.saving.HighNS, c.saving.NS*11/10)
	}
	return []candidate{c}
}

// fewThreads finds kernels that run for long on few threads, whatever the device.
func (l *list) fewThreads() (all []candidate) {
	for _, k := range kernels.OnFewThreads(l.Forest) {
		if l.byRequest || !l.enough(k.NS/l.devicesNum) {
			continue
		}
		f := says(Operation, Where{Section: "operations", Operation: k.Name},
			"%s runs for %s on %s. A device runs many thousands at a time.", l.named(k.Name),
			l.part(k.NS/l.devicesNum), units.Plural(k.Threads, "thread"))
		f.Evidence = []Evidence{about("kernel", k.Name), times("launches", k.Count), times("threads", k.Threads)}
		f.Try = "divide its work among more blocks and threads, or do several inputs in one launch"
		all = append(all, candidate{Finding: f, saving: replay.Saving{NS: k.NS / l.devicesNum}, most: k.NS / l.devicesNum, atMost: true})
	}
	return all
}

// mayHave reports whether a device has something by its name. A device without a name may have all.
func (l *list) mayHave(has func(model string) bool) bool {
	return len(l.Input.Models) == 0 || slices.ContainsFunc(l.Input.Models, has)
}

// hasTensorCores reports whether the devices have tensor cores: NVIDIA's since 2017.
func (l *list) hasTensorCores() bool {
	if !l.mayHave(peaks.HasTensorCores) {
		return false
	}
	for i := range l.Extent.Devices {
		if kind, _, _ := strings.Cut(l.Extent.Devices[i].DeviceID, ":"); kind == "cuda" || kind == "gpu" {
			return true
		}
	}
	return false
}

// unlike finds operations slower than others with names or paths equal up to one number, such as layer_05. Operations of
// one number that are slower alike are one finding, the small ones too.
func (l *list) unlike() (all []candidate) {
	for _, of := range layers.Together(l.slowLayers(), maxChanges) {
		var c candidate
		var labels []string
		var usual, median, n, more int64
		for _, s := range of {
			usual += int64(s.Usual)
			median += s.Median
			more += s.Excess()
			n += s.Count
			labels = append(labels, l.namedLayer(&s))
			c.Evidence = append(c.Evidence, lasts("mean", int64(s.Mean)), lasts("median of its like", s.Median))
			selects := s.Selects()
			if s.Device != layers.AnyDevice {
				selects += "," + selectsOn(l.Forest.Devices.Keys[s.Device])
			}
			c.changes = append(c.changes, replay.Change{Kind: replay.Scale, Select: selects, Factor: 1 / s.Factor})
		}
		if !l.byRequest && !l.enough(more/l.devicesNum) { // requests share a step
			continue
		}
		takes, most := " takes ", 3
		if len(of) > 1 {
			takes = " take "
		}
		if len(labels) > most {
			labels = append(labels[:most-1], units.Plural(int64(len(of)-most+1), "other operation")+" of it")
		}
		evidence := c.Evidence
		c.Finding = says(Operation, Where{Section: "operations", Operation: of[0].Operation},
			"%s%s%s, %s times the median of its %s like it.", strings.Join(labels, ", "), takes,
			units.Duration(usual), ratio(float64(usual)/float64(median)), units.Plural(int64(of[0].Like), "operation"))
		c.Evidence = append(evidence, times("calls", n))
		c.Try = "compare its shapes, types and kernels with those of its like"
		if !l.byRequest {
			c.most = more
		}
		all = append(all, c)
	}
	return all
}

// namedLayer returns the name of a layer's operation for sentences.
func (l *list) namedLayer(s *layers.Layer) string {
	text := l.named(s.Operation)
	if s.Path != "" {
		text += " of " + named(s.Path)
	}
	if s.Phase != "" {
		text += " in " + s.Phase
	}
	if s.Device != layers.AnyDevice {
		text += " on " + l.label(l.Forest.Devices.Keys[s.Device])
	}
	return text
}

// conversions finds operators for the type or layout of tensors, or for moving their data, and kernels for their layout.
func (l *list) conversions() (all []candidate) {
	const moves = 8 // the least part of the whole for movers is 1/moves
	for i := range l.Operators.Rows {
		o := &l.Operators.Rows[i]
		what := kernels.ConversionOf[o.Operator]
		if what == "" || !l.enough(o.DeviceTotalNS/l.devicesNum) {
			continue
		}
		ns := selection.Computed(l.Forest, o.Operator) / l.devicesNum
		if !l.enough(ns) || what == "data" && ns < l.whole/moves {
			continue
		}
		text := "changes the " + what + " of tensors"
		try := "keep one " + what + " from operation to operation"
		if what == "data" {
			text = "only moves data"
			try = "avoid the copy: views, sorted indices, grouped products, fused gathers"
		}
		f := says(Operation, Where{Section: "operators", Operation: o.Operator}, "%s %s, for %s in %s.",
			l.named(o.Operator), text, l.part(ns), units.Plural(o.Calls, "call"))
		f.Evidence = []Evidence{times("calls", o.Calls), lasts("time of the device", ns*l.devicesNum)}
		f.Try = try
		only := change(replay.Remove, "operator="+o.Operator+",kind=compute")
		all = append(all, candidate{Finding: f, changes: only, most: ns, atMost: true})
	}
	for _, c := range []struct {
		what, try string
		kernels   *regexp.Regexp
	}{
		{"type", "keep one type from operation to operation", kernels.Types},
		{"layout", "keep one layout from operation to operation (channels_last)", kernels.Layouts},
	} {
		var n, sum int64
		var changes []replay.Change
		name := ""
		for i := range l.Operations {
			if o := &l.Operations[i]; o.Side == "" && len(changes) < maxChanges && c.kernels.MatchString(o.Operation) {
				name = cmp.Or(name, o.Operation)
				n += o.Count
				sum += o.SumNS
				changes = append(changes, replay.Change{Kind: replay.Remove, Select: o.Operation})
			}
		}
		if ns := sum / l.devicesNum; n > 0 && l.enough(ns) {
			f := says(Operation, Where{Section: "operations", Operation: name}, "Operations change the %s of tensors for %s, %s, such as %s.",
				c.what, l.part(ns), units.Plural(n, "time"), l.named(name))
			f.Evidence = []Evidence{about("operation", name), times("operations", n), lasts("time of the device", sum)}
			f.Try = c.try
			all = append(all, candidate{Finding: f, changes: changes, most: ns, atMost: true})
		}
	}
	return all
}

// findElementwise finds chains of elementwise operations. Each reads and writes all of its data.
func (l *list) findElementwise() []candidate {
	const much = 10
	var n, ns int64
	for i := range l.Operations {
		if o := &l.Operations[i]; o.Side == "" && selection.IsElementwise(o.Operation) {
			n += o.Count
			ns += o.SumNS
		}
	}
	changes, most, runs, tensors := fusible.Find(l.Forest, l.Operations, maxChanges)
	if ns/l.devicesNum < l.whole/much && (runs == 0 || most/l.devicesNum < l.whole/much) {
		return nil
	}
	f := says(SmallOperations, Where{Section: "operations"},
		"Elementwise operations take %s: %s, each of them reads and writes all of its data.", l.part(ns/l.devicesNum),
		units.Count(n))
	f.Evidence = []Evidence{times("elementwise operations", n), lasts("time", ns)}
	f.Try = "fuse the chains: torch.compile, fused norm, rotary and activation kernels"
	if runs > 0 {
		f.Text = fmt.Sprintf("Elementwise operations take %s: %s, mostly the same for one tensor after the other, %s at a "+
			"time, as in an optimizer that is not fused.", l.part(ns/l.devicesNum), units.Count(n), units.Count(tensors/runs))
		f.Evidence = append(f.Evidence, times("tensors", tensors))
		f.Try = "a fused optimizer (fused=True), or foreach=True: one launch for many tensors"
	}
	c := candidate{Finding: f, changes: changes, most: cmp.Or(most, ns) / l.devicesNum, atMost: true}
	if l.replay(&c.saving, c.changes) {
		c.saving.HighNS = max(c.saving.NS, c.most)
	}
	return []candidate{c}
}

// rooflines finds calls below half of their peak.
func (l *list) rooflines() (all []candidate) {
	const near, fewNames = 0.5, 3
	for _, far := range reach.Find(l.Forest, l.Operations, l.Operators.Rows, near, maxChanges) {
		sum, first := far.Sum(), far.Slow[0]
		var names []string
		c := candidate{most: (sum.NS - sum.LeastNS) / l.devicesNum, atMost: true, isGeneral: true}
		for _, r := range far.Slow {
			names = append(names, l.named(r.Name))
			c.changes = append(c.changes, replay.Change{Kind: replay.Roofline, Select: r.Name})
		}
		reaches, in, where := " reach ", "", Where{Section: "operations", Operation: first.Name}
		if first.IsOperator {
			where.Section = "operators"
		}
		if n := len(names); n == 1 {
			reaches = " reaches "
		} else if n > fewNames {
			names = append(names[:fewNames-1], units.Plural(int64(n-fewNames+1), "other operation"))
		}
		share := float64(sum.LeastNS) / float64(sum.NS)
		if sum.Slow < sum.All {
			in = " in " + units.Count(sum.Slow) + " of " + units.Plural(sum.All, "call") + far.Where(named)
		}
		c.Finding = says(Roofline, where, "%s%s%s of what the device can do%s, bound by %s.", strings.Join(names, ", "), reaches,
			units.Percent(share), in, first.Bound)
		c.Evidence = []Evidence{times("calls", sum.Slow), lasts("time", sum.NS), lasts("least time by the peaks", sum.LeastNS)}
		c.Try = "larger shapes, another layout or type, a fused kernel"
		var peak replay.Saving
		switch {
		case l.Replay == nil:
			c.changes, c.saving.NS = nil, min(c.most, l.busyNS()/l.devicesNum)
		case far.UnknownKernels:
			c.changes = []replay.Change{{
				Kind: replay.Scale, Select: "operator=" + first.Name, Factor: share / cmp.Or(far.Like, 1),
			}}
		case far.Like > 0 && l.replay(&peak, c.changes):
			c.changes = slices.Clone(c.changes)
			for i := range c.changes {
				c.changes[i].Factor = far.Like
			}
			if l.replay(&c.saving, c.changes) {
				c.saving.HighNS = max(c.saving.HighNS, peak.HighNS)
			}
		}
		all = append(all, c)
	}
	return all
}
