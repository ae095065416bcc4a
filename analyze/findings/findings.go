package findings

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/optrace/optrace/analyze/clocks"
	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/launch"
	"github.com/optrace/optrace/analyze/operators"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/sequences"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// Kind is the kind of a finding.
type Kind string

// The kinds. Findings with equal savings are sorted in this order.
const (
	// Bound states the largest part of the time. Every input with operations has it.
	Bound Kind = "bound"
	// Operation is an operation, on a device or the host, that makes the run longer.
	Operation Kind = "operation"
	// HostGap is idle time of a device caused by the host.
	HostGap Kind = "host_gap"
	// Straggler is a device that others wait for, Imbalance a device with more work than others.
	Straggler Kind = "straggler"
	Imbalance Kind = "imbalance"
	// SlowRequest is a request slower than others of its name, or a queue of requests.
	SlowRequest Kind = "slow_request"
	// FirstStep is a first step or request slower than the others.
	FirstStep Kind = "first_step"
	// Launch is the time spent launching operations.
	Launch Kind = "launch"
	// SmallOperations are repeated sequences of short operations with gaps between them.
	SmallOperations Kind = "small_operations"
	// Copies are memory copies not hidden behind other work.
	Copies Kind = "copies"
	// Roofline is an operation far below the peak of its device.
	Roofline Kind = "roofline"
	// Suspect marks impossible times, Lost lost data, and NotUnderstood skipped records that may be operations.
	Suspect       Kind = "suspect"
	Lost          Kind = "lost"
	NotUnderstood Kind = "not_understood"
	// failed marks operations that ended with an error.
	failed Kind = "failed"
	// Change is the first finding of a comparison: the change of the whole run.
	Change Kind = "change"
	// Nothing marks an input without operations.
	Nothing Kind = "nothing"
)

var kinds = []Kind{
	Bound, Operation, HostGap, Straggler, Imbalance, SlowRequest, FirstStep, Launch, SmallOperations, Copies, Roofline,
	Suspect, Lost, NotUnderstood, failed, Nothing,
}

// Finding is one or two sentences about a run, with its figures.
type Finding struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
	// Rule names the rule of the finding: "coverage" for missing work, "clocks" for clocks of ranks that differ.
	Rule string `json:"rule,omitempty"`
	// SavedNS is the time saved without the cause, out of OfNS of the run or its requests, unknown if not estimated.
	SavedNS op.Int `json:"saved_ns"`
	OfNS    op.Int `json:"of_ns"`
	// SavedLowNS and SavedHighNS bound SavedNS, the expected gain; unknown without bounds.
	SavedLowNS  op.Int `json:"saved_low_ns,omitzero"`
	SavedHighNS op.Int `json:"saved_high_ns,omitzero"`
	// Evidence has the recorded figures and names that prove the text.
	Evidence []Evidence `json:"evidence,omitempty"`
	// Try suggests a change in one line. Advice is the anchor of its paragraph in docs/advice.md.
	Try    string `json:"try,omitempty"`
	Advice string `json:"advice,omitempty"`
	// Chance is the p-value of a comparison, unknown for other findings.
	Chance op.Float `json:"chance"`
	Where  Where    `json:"where"`
}

// Evidence is a figure or a name that proves a finding, such as {"calls", "120", ""} or {"bytes", "64", "MiB"}.
type Evidence struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Unit  string `json:"unit,omitempty"`
}

// Where locates a finding. Fields without meaning for it are empty.
type Where struct {
	Section   string     `json:"section,omitempty"`
	Operation string     `json:"operation,omitempty"`
	DeviceID  string     `json:"device_id,omitempty"`
	Rank      op.Int     `json:"rank,omitzero"`
	TraceID   op.TraceID `json:"trace_id,omitzero"`
	SpanID    op.SpanID  `json:"span_id,omitzero"`
	FromNS    op.Int     `json:"from_unix_ns,omitzero"`
	ToNS      op.Int     `json:"to_unix_ns,omitzero"`
	// Command is the command line for more detail.
	Command string `json:"command,omitempty"`
}

// Facts are the input of Of: the figures of a report and, in addition, Extent, Lateness, Alike, Engines and First.
type Facts struct {
	Input Input
	// Coverage may be nil. Clocks is the rank whose clock differs most, nil if the clocks of ranks agree.
	Coverage *launch.Coverage
	Clocks   *clocks.Offset
	Total    profile.Total
	// WithoutSuspects is the total without suspect times, nil without suspects.
	WithoutSuspects *profile.Total
	Operations      []profile.Operation
	Errors          []profile.Error
	Devices         []profile.Device
	Peaks           []peaks.Device // of the devices, empty if they are not known
	Copies          []profile.Copy
	Idle            []timeline.IdleGap
	IdleCauses      *timeline.IdleCauses
	Places          []timeline.Place // all, see timeline.Gaps
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
	Steps           []steps.Row
	// Forest and Replay may be nil. Rules that need them then find nothing.
	Forest *trace.Forest
	Replay func() *replay.Graph
}

// Input describes the input.
type Input struct {
	Files, Bytes int64
	// Formats has the names of the files' formats.
	Formats []string

	Spans, Entries, Malformed, Truncated, Dropped, MissingEntries, SuspectDurations int64

	SkippedBy map[string]int64
	Suspects  []suspects.Suspect

	// TimeUnit is the likely unit of the times of EarlyStarts operations, "" if all times look like nanoseconds.
	TimeUnit    string
	EarlyStarts int64
	// BadProducts counts products of incompatible shapes, such as BadProduct.
	BadProducts int64
	BadProduct  string
}

// maxChance is the largest p-value of a finding, minShare its least share of the time.
const (
	maxChance = 0.01
	minShare  = 0.03
)

// Of returns the findings, the most important first.
func Of(f *Facts) []Finding {
	l := &list{Facts: *f}
	l.Extent = cmp.Or(l.Extent, new(timeline.Extent))
	l.IdleCauses = cmp.Or(l.IdleCauses, new(timeline.IdleCauses))
	l.Operators = cmp.Or(l.Operators, new(operators.Operators))
	l.Launches = cmp.Or(l.Launches, new(launch.Launches))
	l.Sequences = cmp.Or(l.Sequences, new(sequences.Sequences))
	l.Coverage = cmp.Or(l.Coverage, new(launch.Coverage))
	l.coverage()
	l.input()
	switch {
	case f.Input.Entries > 0:
		l.run()
	case len(f.Engines) > 0:
		l.first = append(l.first, engineFindings(f.Engines, true)...)
	default:
		l.all = append(l.all, emptyInput(&f.Input))
	}
	found := append(l.first, l.all...)
	for i := range found {
		if w := &found[i].Where; w.Section != "" {
			w.Command = "optrace report -section " + w.Section
		}
	}
	return found
}

// coverage adds the findings on missing work and on clocks, before all others.
func (l *list) coverage() {
	where := Where{Command: "optrace doctor"}
	if text := l.Coverage.Text(); text != "" {
		f := says(Lost, where, "%s", text)
		f.Rule = "coverage"
		l.first = append(l.first, f)
		if l.Coverage.Doubtful() {
			l.unknown = "work is missing"
		}
	}
	if c := l.Clocks; c != nil {
		f := says(Suspect, where, "%s. Try optrace report -align-clocks.", c.Text())
		f.Rule = "clocks"
		f.Where.Rank = op.Known(c.Rank)
		l.first = append(l.first, f)
		l.Lateness = nil
		l.unknown = cmp.Or(l.unknown, "clocks of ranks differ")
	}
}

// outside adds the finding on operations that were launched and did not start for long, without a recorded reason.
func (l *list) outside() {
	const much = 0.2
	if l.Replay == nil {
		return
	}
	ns, share := l.Replay().Unexplained()
	if share < much {
		return
	}
	f := says(Lost, Where{Section: "launches"}, "Operations wait %s (%s) on the device without a recorded reason. Work queued "+
		"before the recording, or left out of it, may run then: it is no idle time to win.",
		units.Duration(ns), units.Percent(share))
	f.Rule = "outside"
	f.Evidence = []Evidence{lasts("waits without a reason", ns)}
	l.first = append(l.first, f)
}

// withoutTimes adds the findings that do not depend on times between operations.
func (l *list) withoutTimes() {
	by := &l.by
	most := slices.MaxFunc([]boundPart{
		{"compute", by.ComputeNS}, {"communication", by.CommunicationNS}, {"memory", by.MemoryNS},
		{"other operations", by.OtherNS},
	}, func(a, b boundPart) int { return cmp.Compare(a.ns, b.ns) })
	text := "The bound is not known, because " + l.unknown
	if all := l.whole * l.devicesNum; all > 0 && 2*most.ns >= all {
		text = fmt.Sprintf("The bound is %s: at least %s of %s; the rest is not known, because %s", most.name,
			units.Percent(float64(most.ns)/float64(all)), l.wholeText(), l.unknown)
	} else if l.Total.Count > 0 {
		text += ": " + units.Plural(l.Total.Count, "operation") + " took " + units.Duration(l.Total.SumNS) + " in all"
	}
	l.first = append(l.first, says(Bound, Where{Section: "devices"}, "%s.", text))
	l.all = append(l.all, engineFindings(l.Engines, false)...)
	l.first = append(l.first, l.failed...)
	l.sort()
}

func (l *list) run() {
	l.name()
	l.divide()
	if l.unknown != "" {
		l.withoutTimes()
		return
	}
	l.blame()
	l.outside()
	l.first = append(l.first, l.bound())
	l.changes()
	l.all = append(l.all, engineFindings(l.Engines, false)...)
	l.first = append(l.first, l.failed...)
	l.sort()
}

func (l *list) sort() {
	slices.SortStableFunc(l.all, func(a, b Finding) int {
		return cmp.Or(
			order.Ints(b.SavedNS, a.SavedNS), cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
		)
	})
}

// name finds names in text that tell all operations apart.
func (l *list) name() {
	var names []string
	for i := range l.Operations {
		names = append(names, l.Operations[i].Operation)
	}
	l.names = make(map[string]string)
	for i, name := range requests.NamesInText(names) {
		l.names[names[i]] = name
	}
}

type list struct {
	Facts
	// first holds the findings that cast doubt on the figures, and the bound. They come before all others.
	first, all []Finding
	failed     []Finding // come after the bound
	unknown    string    // why times between operations are not known, "" if they are
	// whole is the divided time: the paths of the requests, or the extent on each of devicesNum devices.
	whole, devicesNum int64
	byRequest         bool
	// by divides whole. queuedNS of the host's part is waiting in queues, quietNS of idle time is without a request.
	by                path.BoundBy
	queuedNS, quietNS int64
	queuedIn          map[string]int64  // queuedNS by span name, not capped
	ranks             bool              // several ranks are known
	names             map[string]string // of operations, as sentences name them
	// late is the device that holds up the others in collectives. It may be nil. spread then describes the waiting.
	late   *blamed
	spread string
}

func says(kind Kind, where Where, format string, args ...any) Finding {
	return Finding{Kind: kind, Where: where, Text: fmt.Sprintf(format, args...)}
}

// part formats a time with its share of the whole.
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

func (l *list) named(name string) string { return cmp.Or(l.names[name], named(name)) }

func named(name string) string { return requests.NameInText(name) }
