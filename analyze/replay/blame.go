package replay

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/optrace/optrace/op"
)

// Blame is the time by which a culprit delayed a victim: the victim ends so much earlier without the culprit. The rest of
// a victim's waiting has no culprit.
type Blame struct {
	Victim  Party  `json:"victim"`
	Culprit *Party `json:"culprit"`
	Reason  Reason `json:"reason"`
	NS      int64  `json:"ns"`
	LowNS   int64  `json:"low_ns"`
	HighNS  int64  `json:"high_ns"`
	// Tokens is the size of the culprit's prompt, 0 if unknown. Behind names the culprit, Text is a sentence.
	Tokens int64  `json:"tokens,omitzero"`
	Behind string `json:"behind"`
	Text   string `json:"text"`
}

// Party is a request, or work without a request.
type Party struct {
	// Row is the row of the request's span. Name is its name with a part of its trace id, enough to tell it from others.
	Row        int32      `json:"-"`
	Name       string     `json:"name,omitzero"`
	TraceID    op.TraceID `json:"trace_id,omitzero"`
	RootSpanID op.SpanID  `json:"root_span_id,omitzero"`
	// Step is the name of work without a request that was read.
	Step string `json:"step,omitzero"`
}

// Reason is how a culprit delayed a victim.
type Reason string

// The reasons.
const (
	// ByPrompt is the time of the culprit's prompt, ByDecode the time of its further steps.
	ByPrompt Reason = "prompt"
	ByDecode Reason = "decode"
	// ByQueue is the time before the victim's first step while the culprit was generating.
	ByQueue Reason = "queue"
	// ByOther is work outside steps or without a request, and the rest.
	ByOther Reason = "other"
)

// Culprit sums up the delays caused by a request.
type Culprit struct {
	Party
	// NS sums up the delays of Victims requests, each at least a hundredth of the request, and not longer than the culprit
	// can cause itself: a shorter queue may also let a request overtake another culprit. Longest is the longest of them.
	Victims int   `json:"victims"`
	NS      int64 `json:"ns"`
	LowNS   int64 `json:"low_ns"`
	HighNS  int64 `json:"high_ns"`
	Longest Blame `json:"longest"`
}

// Blames says who delayed whom.
type Blames struct {
	// Rows has for each victim, the slowest first, its culprits, the largest first, and the rest. They add up to the
	// victim's waiting: its duration less that of a replay in which it is alone. The rest is negative if several culprits
	// cause the same waiting.
	Rows []Blame
	// Culprits has the largest sum first.
	Culprits []Culprit
}

// Bounds of the number of replays, and the least delay as a share of the victim's duration.
const (
	maxVictims  = 16
	maxSuspects = 8  // of a victim
	maxFormed   = 64 // culprits of an engine
	maxReplayed = 24 // other culprits
	leastBlame  = 0.01
)

// Blame finds who delayed the slowest requests, of those that keep selects or of all for nil. A bound selects suspects:
// the work done for others while a request waited. For each suspect there is one replay without it.
func (g *Graph) Blame(keep func(row int32) bool) *Blames {
	b := &blamer{Blames: Blames{Rows: []Blame{}, Culprits: []Culprit{}}, graph: g, keep: keep}
	inEngine := make(map[int32]bool)
	for _, e := range g.engines() {
		s := newPinned(g, e)
		for _, r := range s.rows {
			inEngine[r] = true
		}
		b.add(s, &s.blamed)
	}
	others := slices.DeleteFunc(slices.Clone(g.roots), func(r int32) bool { return inEngine[r] })
	if len(others) > 0 {
		s := newAlone(g, others)
		b.add(s, &s.blamed)
	}
	slices.SortFunc(b.Culprits, func(x, y Culprit) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Row, y.Row))
	})
	b.describe(g.forest)
	return &b.Blames
}

// suspect is what worked for others while a victim waited. Its number is the row of a request, or the complement of the
// number of a step without a request.
type suspect struct {
	number               int32
	ns                   float64 // of work
	prompt, beforeVictim float64 // of these, for its prompt, and before the victim's first step
}

// reason says how a culprit delayed a victim. x is nil for a culprit that ended long before: it made the queue longer.
func (s *blamed) reason(x *suspect, culprit int32) Reason {
	const half = 2
	if s.whole == nil || culprit < 0 {
		return ByOther
	}
	if x == nil {
		x = s.whole(culprit)
		x.beforeVictim = x.ns
	}
	switch {
	case half*x.prompt >= x.ns:
		return ByPrompt
	case s.full && half*x.beforeVictim >= x.ns:
		return ByQueue
	}
	return ByDecode
}

type suspects map[int32]*suspect

// add adds work of a suspect.
func (s suspects) add(number int32, ns float64) *suspect {
	x := s[number]
	if x == nil {
		x = &suspect{number: number}
		s[number] = x
	}
	x.ns += ns
	return x
}

// longest returns the longest delay that a request can cause itself: about the time of its work, or for requests that
// wait for a place in the batch the time in it.
func (s *blamed) longest(row int32) int64 {
	if s.whole == nil {
		return math.MaxInt64
	}
	const half = 2
	x := s.whole(row)
	own := half * int64(x.ns)
	if half*x.prompt >= x.ns {
		return own
	}
	return max(own, s.inBatch(row))
}

// source finds and replays requests.
type source interface {
	// suspects returns those of a victim.
	suspects(victim int32) suspects
	// without returns by how much each request ends earlier without some, by index.
	without(numbers map[int32]bool) []int64
}

// blamed has what sources share.
type blamed struct {
	rows    []int32       // of the requests
	index   map[int32]int // of each row
	most    int           // culprits
	full    bool          // requests waited for a place in the batch
	off     float64       // the error without a change, as a share of the durations
	tokens  func(row int32) int64
	whole   func(row int32) *suspect // the work for a request, nil beside engines
	inBatch func(row int32) int64    // ns from its first step to its last one if requests waited for places, likewise
	names   []string                 // names of work without requests
}

func newBlamed(rows []int32, most int) blamed {
	b := blamed{rows: rows, index: make(map[int32]int, len(rows)), most: most, tokens: func(int32) int64 { return 0 }}
	for i, r := range rows {
		b.index[r] = i
	}
	return b
}

// bound sets the bounds of a delay of a request.
func (s *blamed) bound(ns, duration int64) (low, high int64) {
	width := (spreads[Without]+spreadFormed)*float64(max(ns, -ns)) + (leastBlame+s.off)*float64(duration)
	return ns - int64(width), ns + int64(width)
}

type blamer struct {
	Blames
	graph *Graph
	keep  func(int32) bool
}

func (b *blamer) duration(row int32) int64 {
	return b.graph.g.slack(b.graph.begin[row], b.graph.end[row])
}

// counts reports whether a delay is large enough for a row.
func (b *blamer) counts(ns int64, victim int32) bool {
	return ns > 0 && float64(ns) >= leastBlame*float64(b.duration(victim))
}

func (b *blamer) add(s source, of *blamed) {
	victims := slices.Clone(of.rows)
	if b.keep != nil {
		victims = slices.DeleteFunc(victims, func(r int32) bool { return !b.keep(r) })
	}
	slices.SortFunc(victims, func(x, y int32) int {
		return cmp.Or(cmp.Compare(b.duration(y), b.duration(x)), cmp.Compare(x, y))
	})
	victims = victims[:min(len(victims), maxVictims)]
	byVictim := make([]suspects, len(victims))
	bounds := make(suspects)
	for i, v := range victims {
		byVictim[i] = s.suspects(v)
		for _, x := range largest(byVictim[i], maxSuspects) {
			if b.counts(int64(x.ns), v) {
				bounds.add(x.number, x.ns)
			}
		}
	}
	if len(bounds) == 0 {
		return
	}
	delays := make(map[int32][]int64)
	for _, x := range largest(bounds, of.most) {
		delays[x.number] = s.without(map[int32]bool{x.number: true})
		if x.number >= 0 {
			b.addCulprit(s, of, x.number, delays[x.number])
		}
	}
	for i, v := range victims {
		everyone := make(map[int32]bool, len(of.rows))
		for _, r := range of.rows {
			everyone[r] = r != v
		}
		for number := range of.names {
			everyone[^int32(number)] = true
		}
		b.addVictim(of, v, byVictim[i], delays, s.without(everyone)[of.index[v]])
	}
}

// largest returns at most n suspects with the most work.
func largest(s suspects, n int) []*suspect {
	list := slices.SortedFunc(maps.Values(s), func(x, y *suspect) int {
		return cmp.Or(cmp.Compare(y.ns, x.ns), cmp.Compare(x.number, y.number))
	})
	return list[:min(len(list), n)]
}

func (b *blamer) addCulprit(s source, of *blamed, culprit int32, delays []int64) {
	c := Culprit{Party: Party{Row: culprit}}
	for i, v := range of.rows {
		ns := delays[i]
		if v == culprit || !b.counts(ns, v) || ns > of.longest(culprit) {
			continue
		}
		low, high := of.bound(ns, b.duration(v))
		c.NS += ns
		c.LowNS += max(0, low)
		c.HighNS += high
		c.Victims++
		if ns > c.Longest.NS {
			c.Longest = Blame{Victim: Party{Row: v}, Culprit: &Party{Row: culprit}, NS: ns, LowNS: low, HighNS: high}
		}
	}
	if c.Victims > 0 {
		c.Longest.Tokens = of.tokens(culprit)
		c.Longest.Reason = of.reason(s.suspects(c.Longest.Victim.Row)[culprit], culprit)
		b.Culprits = append(b.Culprits, c)
	}
}

// addVictim adds the rows of a victim that waited for some ns in all.
func (b *blamer) addVictim(of *blamed, victim int32, all suspects, delays map[int32][]int64, waited int64) {
	var rows []Blame
	for number, list := range delays {
		ns := list[of.index[victim]]
		if number == victim || !b.counts(ns, victim) {
			continue
		}
		row := Blame{
			Victim: Party{Row: victim}, Culprit: &Party{Row: max(none, number)}, NS: ns, Reason: of.reason(all[number], number),
		}
		if number < 0 {
			row.Culprit.Step = of.names[^number]
		} else {
			row.Tokens = of.tokens(number)
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
		rows[i].LowNS, rows[i].HighNS = of.bound(rows[i].NS, b.duration(victim))
	}
	b.Rows = append(b.Rows, rows...)
}
