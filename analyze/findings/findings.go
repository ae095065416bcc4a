package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/launch"
	"github.com/optrace/optrace/analyze/operators"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/sequences"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// Kind is the kind of a finding.
type Kind string

// The kinds. Findings that would save the same are in this order.
const (
	// Bound is what most of the time goes to. It always comes unless there is nothing.
	Bound Kind = "bound"
	// Operation is an operation without which the run would be shorter, on a device or on the host.
	Operation Kind = "operation"
	// HostGap is time in which a device had nothing to do because of the host.
	HostGap Kind = "host_gap"
	// Straggler is a device that others wait for, Imbalance one that has more to do than others.
	Straggler Kind = "straggler"
	Imbalance Kind = "imbalance"
	// SlowRequest is a request slower than others of its name, or several that wait in a queue.
	SlowRequest Kind = "slow_request"
	// FirstStep is a first step or request that takes much longer than the others.
	FirstStep Kind = "first_step"
	// Launch is the time that launching operations takes.
	Launch Kind = "launch"
	// SmallOperations are sequences of short operations with gaps between them.
	SmallOperations Kind = "small_operations"
	// Copies are copies of memory that nothing hides.
	Copies Kind = "copies"
	// Roofline is an operation far from what its device can do.
	Roofline Kind = "roofline"
	// Suspect is times that cannot be right, Lost what was lost before it was written, and
	// NotUnderstood what may be operations and was passed over.
	Suspect       Kind = "suspect"
	Lost          Kind = "lost"
	NotUnderstood Kind = "not_understood"
	// failed is operations that ended with an error.
	failed Kind = "failed"
	// Change is what became of the whole from one run to another, the first finding of a comparison.
	Change Kind = "change"
	// Nothing says that there are no operations.
	Nothing Kind = "nothing"
)

var kinds = []Kind{
	Bound, Operation, HostGap, Straggler, Imbalance, SlowRequest, FirstStep, Launch, SmallOperations, Copies, Roofline, Suspect, Lost,
	NotUnderstood, failed, Nothing,
}

// Finding is a sentence or two about a run, with the figures that prove it.
type Finding struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
	// SavedNS is how much shorter the run would be, or the requests together, without what was found,
	// of OfNS; unknown where that cannot be said.
	SavedNS op.Int `json:"saved_ns"`
	OfNS    op.Int `json:"of_ns"`
	// Chance is the probability of as much by chance; unknown for what is no comparison.
	Chance op.Float `json:"chance"`
	Where  Where    `json:"where"`
}

// Where is what to look at: fields that say nothing are left out.
type Where struct {
	Section   string     `json:"section,omitempty"`
	Operation string     `json:"operation,omitempty"`
	DeviceID  string     `json:"device_id,omitempty"`
	Rank      op.Int     `json:"rank,omitzero"`
	TraceID   op.TraceID `json:"trace_id,omitzero"`
	SpanID    op.SpanID  `json:"span_id,omitzero"`
	FromNS    op.Int     `json:"from_unix_ns,omitzero"`
	ToNS      op.Int     `json:"to_unix_ns,omitzero"`
	// Command shows it in more detail.
	Command string `json:"command,omitempty"`
}

// Facts are the figures that findings are made of, those of a report and, in addition, Extent,
// Lateness, Alike, Engines and First.
type Facts struct {
	Input Input
	Total profile.Total
	// WithoutSuspects is the total without suspect times, nil where there are none.
	WithoutSuspects *profile.Total
	Operations      []profile.Operation
	Errors          []profile.Error
	Devices         []profile.Device
	Copies          []profile.Copy
	Idle            []timeline.IdleGap
	IdleCauses      *timeline.IdleCauses
	Launches        *launch.Launches
	Operators       *operators.Operators
	Paths           *path.Totals
	PathOperations  []path.Operation
	Sequences       *sequences.Sequences
	Extent          *timeline.Extent
	Lateness        []collective.Lateness
	Alike           []requests.Alike
	Engines         []engines.Engine
	First           *steps.First
}

// Input is what is known about the input.
type Input struct {
	Files, Bytes int64
	// Formats has the names of the files' formats.
	Formats []string

	Spans, Entries, Malformed, Truncated, Dropped, MissingEntries, SuspectDurations int64

	SkippedBy map[string]int64
	Suspects  []suspects.Suspect

	// TimeUnit is the unit in which times of EarlyStarts operations seem to be recorded in place of nanoseconds, "" for
	// none.
	TimeUnit    string
	EarlyStarts int64
	// BadProducts counts products of shapes that cannot be multiplied, such as BadProduct.
	BadProducts int64
	BadProduct  string
}

// maxChance is the largest probability by which a comparison is a finding, and minShare the part of
// the time that a finding would save at least.
const (
	maxChance = 0.01
	minShare  = 0.03
)

// Of returns the findings, the most important first.
func Of(f *Facts) []Finding {
	l := &list{Facts: *f}
	l.Extent, l.IdleCauses = cmp.Or(l.Extent, new(timeline.Extent)), cmp.Or(l.IdleCauses, new(timeline.IdleCauses))
	l.Operators, l.Launches = cmp.Or(l.Operators, new(operators.Operators)), cmp.Or(l.Launches, new(launch.Launches))
	l.Sequences = cmp.Or(l.Sequences, new(sequences.Sequences))
	l.input()
	switch {
	case f.Input.Entries > 0:
		l.run()
	case len(f.Engines) > 0:
		l.first = append(l.first, engineFindings(f.Engines, true)...)
	default:
		l.all = append(l.all, nothing(&f.Input))
	}
	found := append(l.first, l.all...)
	for i := range found {
		if w := &found[i].Where; w.Section != "" {
			w.Command = "optrace report -section " + w.Section
		}
	}
	return found
}

func (l *list) run() {
	l.divide()
	l.blame()
	l.first = append(l.first, l.bound())
	l.standouts()
	l.devices()
	l.operations()
	tellsSpread := func(f Finding) bool { return strings.HasSuffix(f.Text, l.spread) }
	if 10*l.by.CommunicationNS >= l.whole*l.devicesNum && !slices.ContainsFunc(l.all, tellsSpread) {
		l.first[len(l.first)-1].Text += l.spread // of the bound
	}
	l.hostTimes()
	l.others()
	l.all = append(l.all, engineFindings(l.Engines, false)...)
	l.first = append(l.first, l.failed...)
	slices.SortStableFunc(l.all, func(a, b Finding) int {
		return cmp.Or(
			order.Ints(b.SavedNS, a.SavedNS), cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
		)
	})
}

type list struct {
	Facts
	// first has what comes before all others: what puts the figures in doubt, and the bound.
	first, all []Finding
	failed     []Finding // comes behind the bound
	// whole is the time that is divided, devices by how many it was multiplied: the paths of the
	// requests, where there are any, or the extent on each device.
	whole, devicesNum int64
	byRequest         bool
	// by divides it. Of the host's part requests waited in a queue for queuedNS, and in quietNS of the idle time none was under way.
	by                path.BoundBy
	queuedNS, quietNS int64
	queuedIn          map[string]int64 // queuedNS by the names of spans, uncapped
	ranks             bool             // there are several
	// late is the device that holds up the others in collectives, nil for none; spread is what is said then.
	late   *blamed
	spread string
}

func says(kind Kind, where Where, format string, args ...any) Finding {
	return Finding{Kind: kind, Where: where, Text: fmt.Sprintf(format, args...)}
}

// add adds a finding that would save ns, if that is enough.
func (l *list) add(f Finding, ns int64) {
	if l.whole <= 0 || float64(ns) < minShare*float64(l.whole) {
		return
	}
	f.SavedNS, f.OfNS = op.Known(min(ns, l.whole)), op.Known(l.whole)
	l.all = append(l.all, f)
}

// part returns a time with its part of the whole.
func (l *list) part(ns int64) string {
	share := "0 %"
	if l.whole != 0 {
		share = units.Percent(float64(ns) / float64(l.whole))
	}
	return units.Duration(ns) + " (" + share + ")"
}

func (l *list) label(k device.Key) string {
	if k.DeviceID == key.Unknown {
		return "an unknown device"
	}
	return named(k.Label(l.ranks))
}

func whereDevice(section string, k device.Key) Where {
	return Where{Section: section, DeviceID: k.DeviceID, Rank: k.Rank}
}

func named(name string) string { return requests.NameInText(name) }
