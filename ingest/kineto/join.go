package kineto

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/read/marks"
	"github.com/optrace/optrace/internal/read/profiler"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// join connects the tables of a complete trace. The tables no longer change.
//
//  1. Each host operator gets the innermost operator around it on its thread,
//     each launch the innermost operator on its thread at its start.
//  2. Launches are sorted by correlation id for lookups by device events. Of
//     several launches with one id the earliest counts. In a file merged from
//     the traces of several ranks, an id belongs to its rank.
//  3. Ranges get the ranges around them, and steps are sorted by process and time.
type join struct {
	*tables
	byCorrelation []int32
	// byExternal lists the host operators by external id. It is built on demand, for traces without launches.
	byExternal []int32
	groups     groups
	around     *profiler.Ranges
	byRange    []int32 // the ranges by thread and start
	byNumber   []int32 // the gradients of forward operators by number and start
}

func newJoin(t *tables) *join {
	operators := profiler.Intervals{N: t.hostOps.n, InnerFirst: t.innerFirst, At: func(i int32) profiler.Interval {
		o := t.hostOps.at(i)
		return profiler.Interval{Thread: o.thread, Start: o.start, End: o.start + o.dur}
	}}
	launches := profiler.Intervals{N: t.launches.n, At: func(i int32) profiler.Interval {
		l := t.launches.at(i)
		return profiler.Interval{Thread: l.thread, Start: l.start, End: l.start}
	}}
	operators.Enclose(&launches, func(i int32, n profiler.Nest) { t.hostOps.at(i).parent = n.Parent },
		func(i, in int32) { t.launches.at(i).op = in })
	g := t.findGroups()
	order := make([]int32, t.launches.n) // mostly in order of correlation ids already
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := t.launches.at(i), t.launches.at(j)
		return cmp.Or(cmp.Compare(g.of(t.processOf(a.thread)), g.of(t.processOf(b.thread))),
			cmp.Compare(a.correlation, b.correlation), cmp.Compare(a.start, b.start),
			cmp.Compare(a.thread, b.thread), cmp.Compare(i, j))
	})
	around := &profiler.Ranges{At: t.ranges.at, Text: t.notes.Text, Marks: &t.marks}
	byRange := t.enclose(&t.ranges)
	t.addOptimizerSteps()
	t.steps.Settle(around.Unmarked(byRange,
		func(i int32) bool { return !strings.HasPrefix(t.notes.Text(t.ranges.at(i).Name), modulePrefix) },
		func(thread uint32) int64 { return int64(t.processOf(thread)) }))
	return &join{tables: t, groups: g, byCorrelation: order, around: around, byRange: byRange, byNumber: t.forwards()}
}

// loop is the calls of one optimizer in a process. Names are numbers of notes.
type loop struct {
	process int64
	name    uint32
	ends    []int64
}

const leastSteps = 3 // of an optimizer, to show a loop

// addOptimizerSteps adds the steps of a trace without marks of steps: each lasts until the end of a call of PyTorch's
// optimizer. Of several optimizers in a process the one with the most calls counts.
func (t *tables) addOptimizerSteps() {
	if len(t.steps) > 0 {
		return
	}
	const prefix = "Optimizer.step#"
	loops := make(map[[2]int64]*loop)
	starts := make(map[int64]int64) // of processes
	add := func(thread, name uint32, end int64) {
		process := int64(t.processOf(thread))
		key := [2]int64{process, int64(name)}
		if loops[key] == nil {
			loops[key] = &loop{process: process, name: name}
		}
		loops[key].ends = append(loops[key].ends, end)
	}
	names := make(map[uint32]uint32) // of symbols, as notes
	const none = 0
	for i := range int32(t.hostOps.n) {
		o := t.hostOps.at(i)
		process := int64(t.processOf(o.thread))
		if start, ok := starts[process]; !ok || o.start < start {
			starts[process] = o.start
		}
		name, ok := names[o.name]
		if text := t.symbols.Text(o.name); !ok && strings.HasPrefix(text, prefix) { // so in the profiler's first versions
			name = t.notes.Add([]byte(text)) + 1
		}
		if names[o.name] = name; name != none {
			add(o.thread, name-1, o.start+o.dur)
		}
	}
	for i := range int32(t.ranges.n) {
		if r := t.ranges.at(i); strings.HasPrefix(t.notes.Text(r.Name), prefix) {
			add(r.Thread, r.Name, r.End)
		}
	}
	all := slices.SortedFunc(maps.Values(loops), func(a, b *loop) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(len(b.ends), len(a.ends)), cmp.Compare(a.name, b.name))
	})
	for _, l := range slices.CompactFunc(all, func(a, b *loop) bool { return a.process == b.process }) {
		if len(l.ends) < leastSteps {
			continue
		}
		slices.Sort(l.ends)
		from := min(starts[l.process], l.ends[0])
		for _, end := range l.ends {
			t.steps.Add(&marks.Mark{Rank: 1}, marks.Step{Process: l.process, Start: from, End: end, Name: l.name})
			from = end
		}
	}
}

func (j *join) launchOf(d *deviceOp) *launch {
	if d.has&hasCorrelation == 0 {
		return nil
	}
	return j.callOf(j.groups.of(d.process), d.correlation)
}

// callOf returns the first call of a group with a correlation id, nil if there is none.
func (j *join) callOf(group int, correlation int64) *launch {
	order := func(i int32) int {
		l := j.launches.at(i)
		return cmp.Or(cmp.Compare(j.groups.of(j.processOf(l.thread)), group), cmp.Compare(l.correlation, correlation))
	}
	launches := j.byCorrelation
	i := sort.Search(len(launches), func(i int) bool { return order(launches[i]) >= 0 })
	if i == len(launches) || order(launches[i]) != 0 {
		return nil
	}
	return j.launches.at(launches[i])
}

// waitsOf returns the first wait of each call.
func (j *join) waitsOf() map[*launch]*wait {
	waits := make(map[*launch]*wait)
	for i := range int32(j.waits.n) {
		w := j.waits.at(i)
		l := j.callOf(j.groups.ofPrefix(&j.symbols, j.notes.Text(w.process)), w.correlation)
		if _, again := waits[l]; !again && l != nil {
			waits[l] = w
		}
	}
	return waits
}

// hostOpOf returns the number of the operator that launched a device event, or -1. l may be nil.
func (j *join) hostOpOf(d *deviceOp, l *launch) int32 {
	if l != nil && l.op >= 0 {
		return l.op
	}
	// The first versions of the profiler put the correlation id in place of the external id.
	if d.has&hasExternal == 0 || d.has&hasCorrelation != 0 && d.external == d.correlation {
		return -1
	}
	if j.byExternal == nil {
		j.byExternal = make([]int32, j.hostOps.n)
		for i := range j.byExternal {
			j.byExternal[i] = int32(i)
		}
		slices.SortFunc(j.byExternal, func(a, b int32) int {
			x := j.hostOps.at(a)
			y := j.hostOps.at(b)
			return cmp.Or(cmp.Compare(j.groups.of(j.processOf(x.thread)), j.groups.of(j.processOf(y.thread))),
				cmp.Compare(x.external, y.external), cmp.Compare(a, b))
		})
	}
	group := j.groups.of(d.process)
	order := func(i int32) int {
		o := j.hostOps.at(i)
		return cmp.Or(cmp.Compare(j.groups.of(j.processOf(o.thread)), group), cmp.Compare(o.external, d.external))
	}
	i := sort.Search(len(j.byExternal), func(i int) bool { return order(j.byExternal[i]) >= 0 })
	if i == len(j.byExternal) || order(j.byExternal[i]) != 0 {
		return -1
	}
	return j.byExternal[i]
}

// enclose sets the neighbors of each range of a list and returns the ranges by thread and start.
func (t *tables) enclose(list *rows[profiler.Range]) []int32 {
	ranges := (&profiler.Ranges{At: list.at}).Intervals(list.n)
	ranges.InnerFirst = t.innerFirst
	return ranges.Enclose(&profiler.Intervals{}, func(i int32, n profiler.Nest) { list.at(i).Nest = n }, nil)
}

// tellingFrames yields the frames of Python that tell what the threads with operators or launches do: the innermost ones
// whose own parts take less than half of their time. They do not overlap.
func (t *tables) tellingFrames(yield func(*profiler.Range) bool) {
	working := make([]bool, len(t.threads.Values))
	for i := range int32(t.hostOps.n) {
		working[t.hostOps.at(i).thread] = true
	}
	for i := range int32(t.launches.n) {
		working[t.launches.at(i).thread] = true
	}
	order := t.enclose(&t.frames)
	within := make([]int64, t.frames.n) // the time of the frames directly in each frame
	for _, i := range order {
		if f := t.frames.at(i); f.Parent >= 0 {
			within[f.Parent] += f.End - f.Start
		}
	}
	isDivided := make([]bool, t.frames.n) // and all frames around it
	for _, i := range order {
		f := t.frames.at(i)
		if !working[f.Thread] || f.Parent >= 0 && !isDivided[f.Parent] {
			continue
		}
		isDivided[i] = 2*within[i] >= f.End-f.Start
		if !isDivided[i] && !yield(f) {
			return
		}
	}
}

// rangeAt returns the innermost range open on a thread at a time, -1 for none.
func (j *join) rangeAt(thread uint32, at int64) int32 {
	i := sort.Search(len(j.byRange), func(i int) bool {
		r := j.ranges.at(j.byRange[i])
		return r.Thread > thread || r.Thread == thread && r.Start > at
	}) - 1
	if i < 0 || j.ranges.at(j.byRange[i]).Thread != thread {
		return -1
	}
	in := j.byRange[i]
	for n := 0; in >= 0 && n < marks.MaxDepth; n++ {
		if r := j.ranges.at(in); r.End > at || r.Start == at {
			return in
		}
		in = j.around.Outside(in, at)
	}
	return -1
}

// setRanges sets the path and phase of an entry from the ranges around its launch, and else the phase from the
// operators around it. Arguments of the entry take precedence.
func (m *entryMaker) setRanges(e *op.Entry, thread uint32, at int64, operator int32) {
	around := int32(-1)
	if m.ranges.n > 0 {
		around = m.rangeAt(thread, at)
	}
	if e.Path == "" {
		e.Path = m.around.Path(around, at)
	}
	if e.Phase == "" {
		e.Phase = m.around.Phase(around, at)
	}
	if e.Phase == "" && operator >= 0 {
		e.Phase = m.operatorPhase(operator)
	}
}

// operatorPhase returns the phase of the outermost operator around operator i. The autograd engine computes gradients
// on threads of its own.
func (m *entryMaker) operatorPhase(i int32) string {
	for n := 0; m.hostOps.at(i).parent >= 0; n++ {
		if n == marks.MaxDepth {
			return ""
		}
		i = m.hostOps.at(i).parent
	}
	name := m.hostOps.at(i).name
	phase, ok := m.phases[name]
	if !ok {
		if mark, known := marks.Of(m.symbols.Text(name)); known && !mark.IsStep() {
			phase = mark.Phase
		}
		remember(&m.phases, name, phase)
	}
	return phase
}

// rangeAround returns the name of the innermost range around a call that is no step, or "".
func (m *entryMaker) rangeAround(call *launch) string {
	if m.ranges.n == 0 {
		return ""
	}
	i := m.rangeAt(call.thread, call.start)
	for n := 0; i >= 0 && n < marks.MaxDepth; n, i = n+1, m.around.Outside(i, call.start) {
		if !m.around.Mark(i).IsStep() {
			return scalar.ValidUTF8(m.notes.Text(m.ranges.at(i).Name))
		}
	}
	return ""
}

// groups tells the traces of a merged file apart: SGLang writes "[TP01] 83" for process 83 of the second rank and
// "[TP01] 0" for its device 0. It has the group of each process with a prefix, by symbol; nil if there is no prefix.
type groups map[uint32]group

// rankPrefix is the prefix of a process, one bracket or several.
var rankPrefix = regexp.MustCompile(`^(\[[A-Za-z]+-?[0-9]+\] ?)+`)

type group struct {
	number int // in the order of the prefixes
	rank   op.Int
}

func (g groups) of(process uint32) int { return g[process].number }

// ofPrefix returns the group of the processes with the prefix of a process that may have no symbol.
func (g groups) ofPrefix(symbols *profiler.Symbols, process string) int {
	for other, group := range g {
		if prefixOf(symbols.Text(other)) == prefixOf(process) {
			return group.number
		}
	}
	return 0
}

func prefixOf(process string) string { return rankPrefix.FindString(strings.Trim(process, `"`)) }

// findGroups finds the groups of the processes of all events.
func (t *tables) findGroups() groups {
	prefixes := make(map[uint32]string)
	add := func(process uint32) {
		if _, ok := prefixes[process]; !ok {
			prefixes[process] = prefixOf(t.symbols.Text(process))
		}
	}
	for _, thread := range t.threads.Values {
		add(thread.process)
	}
	for i := range int32(t.deviceOps.n) {
		add(t.deviceOps.at(i).process)
	}
	var list []string
	for _, prefix := range prefixes {
		if prefix != "" && !slices.Contains(list, prefix) {
			list = append(list, prefix)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	g := make(groups)
	for process, prefix := range prefixes {
		if prefix == "" {
			continue
		}
		number := slices.Index(list, prefix)
		g[process] = group{number: number + 1, rank: op.Known(rankIn(prefix, number))}
	}
	return g
}

// rankIn returns the number in a prefix such as [TP01], and the other one if the prefix has several.
func rankIn(prefix string, other int) int64 {
	digits := strings.TrimLeftFunc(strings.Trim(prefix, "[] "), func(r rune) bool { return r < '0' || r > '9' })
	if rank, err := strconv.ParseUint(digits, 10, 31); err == nil {
		return int64(rank)
	}
	return int64(other)
}

func (t *tables) forwards() []int32 {
	var list []int32
	for i := range int32(t.gradients.n) {
		if t.gradients.at(i).forward == 0 {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(i, j int32) int {
		a, b := t.gradients.at(i), t.gradients.at(j)
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(t.hostOps.at(a.op).start, t.hostOps.at(b.op).start),
			cmp.Compare(i, j))
	})
	return list
}

const maxForwards = 64

// forwardOf returns the forward operator of a backward operator, -1 if ambiguous. An operator without a gradient shares
// the number of the next operator with one. Of several operators with the number, the last one with the backward
// operator's name matches:
//
//	forward   aten::linear 4 > aten::t 4   aten::addmm 5   aten::relu 6
//	backward  TBackward0 4                 AddmmBackward0 5
//
// Autograd's thread numbers differ from the thread ids of events. Matches on two threads are ambiguous.
func (m *entryMaker) forwardOf(g *gradient) int32 {
	o := m.hostOps.at(g.op)
	name := m.plainOf(o.name).backward
	if name == "" {
		return -1
	}
	i := sort.Search(len(m.byNumber), func(i int) bool {
		f := m.gradients.at(m.byNumber[i])
		return f.number > g.number || f.number == g.number && m.hostOps.at(f.op).start >= o.start
	})
	found := int32(-1)
	for n := 0; n < maxForwards && i > 0; n++ {
		i--
		f := m.gradients.at(m.byNumber[i])
		if f.number != g.number {
			break
		}
		forward := m.hostOps.at(f.op)
		switch {
		case m.processOf(forward.thread) != m.processOf(o.thread), m.plainOf(forward.name).own != name:
		case found < 0:
			found = f.op
		case forward.thread != m.hostOps.at(found).thread:
			return -1
		}
	}
	return found
}

// plainNames are the plain name of an operator and the plain name of the operator whose gradient it computes: "addmm"
// for "autograd::engine::evaluate_function: AddmmBackward0", "" for a forward operator.
type plainNames struct {
	own, backward string
	known         bool
}

func (m *entryMaker) plainOf(symbol uint32) *plainNames {
	if m.plain == nil {
		m.plain = make([]plainNames, len(m.symbols.Texts())+1)
	}
	p := &m.plain[symbol]
	if !p.known {
		name := m.symbols.Text(symbol)
		p.known, p.own = true, plainName(name)
		class := strings.TrimRight(name[strings.LastIndexByte(name, ' ')+1:], "0123456789")
		if class, ok := strings.CutSuffix(class, "Backward"); ok {
			p.backward = plainName(class)
		}
	}
	return p
}

// plainName returns a name without namespaces, in lower case, letters and digits only: the gradient class of
// max_pool2d_with_indices is MaxPool2DWithIndices.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, name[strings.LastIndexByte(name, ':')+1:])
}
