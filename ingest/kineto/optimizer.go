package kineto

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/optrace/optrace/internal/read/marks"
)

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
