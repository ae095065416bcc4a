package kineto

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/optrace/optrace/ingest/internal/traceevent"
	"github.com/optrace/optrace/internal/marks"
)

// step is one step as one process saw it.
type step struct {
	process    uint32
	start, end int64
	number     int64
	name       uint32 // index of notes
	rank       int    // of the mark, math.MaxInt for a range without one
}

// markNames are the marks of names.
type markNames struct {
	list  []marks.Mark // number 0 is no mark
	index map[uint32]int32
}

// markBytes is the memory of a name, in the index with that one's slack.
const markBytes = 16

// of returns a mark, the zero value for number 0.
func (m *markNames) of(n int32) *marks.Mark {
	if n == 0 {
		return &marks.Mark{}
	}
	return &m.list[n]
}

func (m *markNames) heldBytes() int64 { return int64(len(m.index)) * markBytes }

// addMark returns the number of the mark that the name of an event is, 0 for none. That of a step is a
// step of the event's process.
func (r *reader) addMark(e *traceevent.Event) int32 {
	t := &r.tables
	name := t.notes.add(e.Name)
	m := &t.marks
	if m.index == nil {
		m.index, m.list = make(map[uint32]int32), make([]marks.Mark, 1)
	}
	n, ok := m.index[name]
	if !ok {
		if mark, known := marks.Of(string(e.Name)); known {
			n = int32(len(m.list))
			m.list = append(m.list, mark)
		}
		m.index[name] = n
	}
	if mark := &m.list[n]; mark.IsStep() {
		t.steps = append(t.steps, step{
			process: t.symbols.add(e.PID), start: e.Start.V, end: e.Start.V + e.Duration.V, name: name, rank: mark.Rank,
		})
	}
	return n
}

// settleSteps leaves for each process the steps of one rank, by time, and numbers those that state no
// number. Of these, one that begins in another is a part of that. A process without any step has the
// ranges that repeat.
func (t *tables) settleSteps(byRange []int32) {
	t.addRepeated(byRange)
	slices.SortStableFunc(t.steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.rank, b.rank), cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	kept := t.steps[:0]
	for i := 0; i < len(t.steps); {
		first, ordinal := &t.steps[i], int64(0)
		process, rank, end := first.process, first.rank, int64(math.MinInt64)
		for ; i < len(t.steps) && t.steps[i].process == process; i++ {
			s := t.steps[i]
			number := t.marks.of(t.marks.index[s.name]).Number
			if s.rank != rank || !number.Known && s.start < end {
				continue
			}
			if s.number = number.V; !number.Known {
				s.number, ordinal, end = ordinal, ordinal+1, s.end
			}
			kept = append(kept, s)
		}
	}
	t.steps = kept
}

// leastRepeated is how often a range that no rule knows has to come to be a step.
const leastRepeated = 4

// addRepeated adds the steps of processes that have no marks of steps: of the outermost ranges that
// no rule knows, those of one name on one thread, which come at least leastRepeated times and take
// the most time.
func (t *tables) addRepeated(byRange []int32) {
	type key struct{ thread, name uint32 }
	type repeated struct {
		rows []int32
		time int64
	}
	marked := make(map[uint32]bool)
	for _, s := range t.steps {
		marked[s.process] = true
	}
	all := make(map[key]*repeated)
	best := make(map[uint32]key)
	for _, i := range byRange {
		r := t.ranges.at(i)
		process := t.threads.process(r.thread)
		if r.parent >= 0 || r.mark != 0 || strings.HasPrefix(t.notes.text(r.name), modulePrefix) || marked[process] {
			continue
		}
		k := key{r.thread, r.name}
		if all[k] == nil {
			all[k] = new(repeated)
		}
		of := all[k]
		of.rows = append(of.rows, i)
		of.time += r.dur
		if len(of.rows) < leastRepeated {
			continue
		}
		if b := all[best[process]]; b == nil || of.time > b.time || best[process] == k {
			best[process] = k
		}
	}
	for process, k := range best {
		for _, i := range all[k].rows {
			r := t.ranges.at(i)
			t.steps = append(t.steps, step{process: process, start: r.start, end: r.start + r.dur, name: r.name, rank: math.MaxInt})
		}
	}
}

// stepAt returns the step that a process was in, or nil. Steps of one process
// follow each other.
func (j *join) stepAt(process uint32, at int64) *step {
	i := sort.Search(len(j.steps), func(i int) bool {
		s := &j.steps[i]
		return s.process > process || s.process == process && s.start > at
	}) - 1
	if i < 0 || j.steps[i].process != process || j.steps[i].end <= at {
		return nil
	}
	return &j.steps[i]
}
