package blame

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/trace"
)

const (
	maxVictims  = 16
	maxSuspects = 8    // of a victim
	leastBlame  = 0.01 // the least delay as a share of the victim's duration
)

// Suspect is another request at work while a victim waited. Number is its row, or for a step without a request the
// complement of an index of [Requests.Names].
type Suspect struct {
	Number         int32
	NS             float64 // of work
	PromptNS       float64 // the part for its prompt
	BeforeVictimNS float64 // the part before the victim's first step
}

// reason returns the reason of a delay. x is nil for a culprit that ended long before: it made the queue longer.
func (s *Requests) reason(x *Suspect, culprit int32) Reason {
	const half = 2
	if s.Whole == nil || culprit < 0 {
		return ByOther
	}
	if x == nil {
		x = s.Whole(culprit)
		x.BeforeVictimNS = x.NS
	}
	switch {
	case half*x.PromptNS >= x.NS:
		return ByPrompt
	case s.Full && half*x.BeforeVictimNS >= x.NS:
		return ByQueue
	}
	return ByDecode
}

// Suspects holds suspects by number.
type Suspects map[int32]*Suspect

// Add adds work of a suspect.
func (s Suspects) Add(number int32, ns float64) *Suspect {
	x := s[number]
	if x == nil {
		x = &Suspect{Number: number}
		s[number] = x
	}
	x.NS += ns
	return x
}

// longest returns the longest delay caused by a request itself: about the time of its work, or if requests wait for a
// place in the batch, its time in the batch.
func (s *Requests) longest(row int32) int64 {
	if s.Whole == nil {
		return math.MaxInt64
	}
	const half = 2
	x := s.Whole(row)
	own := half * int64(x.NS)
	if half*x.PromptNS >= x.NS {
		return own
	}
	return max(own, s.InBatch(row))
}

// Source finds and replays requests.
type Source interface {
	// Suspects returns the suspects of a victim.
	Suspects(victim int32) Suspects
	// Without replays without the numbered suspects. It returns by how many ns each request ends earlier, by index.
	Without(numbers map[int32]bool) []int64
}

// Requests are the requests of a [Source].
type Requests struct {
	Rows    []int32
	Index   map[int32]int // of each row
	Most    int           // culprits
	Full    bool          // requests waited for a place in the batch
	Off     float64       // the error without a change, as a share of the durations
	Tokens  func(row int32) int64
	Whole   func(row int32) *Suspect // the work for a request; nil without an engine
	InBatch func(row int32) int64    // ns from its first step to its last one if requests waited for places; likewise
	Names   []string                 // names of work without requests
}

// NewRequests returns requests without prompts, with at most the given number of culprits.
func NewRequests(rows []int32, most int) Requests {
	r := Requests{Rows: rows, Index: make(map[int32]int, len(rows)), Most: most, Tokens: func(int32) int64 { return 0 }}
	for i, row := range rows {
		r.Index[row] = i
	}
	return r
}

// Finder finds blame.
type Finder struct {
	Blames
	// Keep selects victims; nil keeps all. Duration returns the duration of a row. IsWithin reports whether row is
	// request or a part of it.
	Keep     func(row int32) bool
	Duration func(row int32) int64
	IsWithin func(row, request int32) bool
	// Spread is the relative error of a delay.
	Spread float64
}

// bound returns the bounds of a delay of a request.
func (b *Finder) bound(of *Requests, ns, duration int64) (low, high int64) {
	width := b.Spread*float64(max(ns, -ns)) + (leastBlame+of.Off)*float64(duration)
	return ns - int64(width), ns + int64(width)
}

// counts reports whether a delay is large enough for a row.
func (b *Finder) counts(ns int64, victim int32) bool {
	return ns > 0 && float64(ns) >= leastBlame*float64(b.Duration(victim))
}

// Add adds the delays among a source's requests. It replays without each of the largest suspects by their work while
// victims waited, and for each victim without all other requests.
func (b *Finder) Add(s Source, of *Requests) {
	victims := slices.Clone(of.Rows)
	if b.Keep != nil {
		victims = slices.DeleteFunc(victims, func(r int32) bool { return !b.Keep(r) })
	}
	slices.SortFunc(victims, func(x, y int32) int {
		return cmp.Or(cmp.Compare(b.Duration(y), b.Duration(x)), cmp.Compare(x, y))
	})
	victims = victims[:min(len(victims), maxVictims)]
	byVictim := make([]Suspects, len(victims))
	bounds := make(Suspects)
	for i, v := range victims {
		byVictim[i] = s.Suspects(v)
		for _, x := range byVictim[i].Largest(maxSuspects) {
			if b.counts(int64(x.NS), v) {
				bounds.Add(x.Number, x.NS)
			}
		}
	}
	if len(bounds) == 0 {
		return
	}
	delays := make(map[int32][]int64)
	for _, x := range bounds.Largest(of.Most) {
		delays[x.Number] = s.Without(map[int32]bool{x.Number: true})
		if x.Number >= 0 {
			b.addCulprit(s, of, x.Number, delays[x.Number])
		}
	}
	for i, v := range victims {
		everyone := make(map[int32]bool, len(of.Rows))
		for _, r := range of.Rows {
			everyone[r] = !b.IsWithin(r, v)
		}
		for number := range of.Names {
			everyone[^int32(number)] = true
		}
		b.addVictim(of, v, byVictim[i], delays, s.Without(everyone)[of.Index[v]])
	}
}

// Largest returns at most n suspects with the most work.
func (s Suspects) Largest(n int) []*Suspect {
	list := slices.SortedFunc(maps.Values(s), func(x, y *Suspect) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Number, y.Number))
	})
	return list[:min(len(list), n)]
}

func (b *Finder) addCulprit(s Source, of *Requests, culprit int32, delays []int64) {
	c := Culprit{Party: Party{Row: culprit}}
	for i, v := range of.Rows {
		ns := delays[i]
		if b.IsWithin(culprit, v) || !b.counts(ns, v) || ns > of.longest(culprit) {
			continue
		}
		low, high := b.bound(of, ns, b.Duration(v))
		c.NS += ns
		c.LowNS += max(0, low)
		c.HighNS += high
		c.Victims++
		if ns > c.Longest.NS {
			c.Longest = Blame{Victim: Party{Row: v}, Culprit: &Party{Row: culprit}, NS: ns, LowNS: low, HighNS: high}
		}
	}
	if c.Victims > 0 {
		c.Longest.Tokens = of.Tokens(culprit)
		c.Longest.Reason = of.reason(s.Suspects(c.Longest.Victim.Row)[culprit], culprit)
		b.Culprits = append(b.Culprits, c)
	}
}

// addVictim adds the rows of a victim. waited is its waiting in ns.
func (b *Finder) addVictim(of *Requests, victim int32, all Suspects, delays map[int32][]int64, waited int64) {
	var rows []Blame
	for number, list := range delays {
		ns := list[of.Index[victim]]
		if b.IsWithin(number, victim) || !b.counts(ns, victim) {
			continue
		}
		row := Blame{
			Victim: Party{Row: victim}, Culprit: &Party{Row: max(trace.NoRow, number)},
			NS: ns, Reason: of.reason(all[number], number),
		}
		if number < 0 {
			row.Culprit.Step = of.Names[^number]
		} else {
			row.Tokens = of.Tokens(number)
		}
		waited -= ns
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(x, y Blame) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Culprit.Row, y.Culprit.Row),
			cmp.Compare(x.Culprit.Step, y.Culprit.Step))
	})
	if waited != 0 {
		rows = append(rows, Blame{Victim: Party{Row: victim}, NS: waited, Reason: ByOther})
	}
	for i := range rows {
		rows[i].LowNS, rows[i].HighNS = b.bound(of, rows[i].NS, b.Duration(victim))
	}
	b.Rows = append(b.Rows, rows...)
}

// Find returns the blame of all added requests, with names from f.
func (b *Finder) Find(f *trace.Forest) *Blames {
	slices.SortFunc(b.Culprits, func(x, y Culprit) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Row, y.Row))
	})
	b.describe(f)
	return &b.Blames
}
