package findings

import (
	"cmp"
	"fmt"

	"github.com/optrace/optrace/analyze/clocks"
	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/findings/internal/executions"
	"github.com/optrace/optrace/analyze/findings/internal/layers"
	"github.com/optrace/optrace/analyze/findings/internal/uneven"
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
)

// Facts are the input of Of: the figures of a report and, in addition, Extent, Lateness, Collectives, Alike, Engines and
// First.
type Facts struct {
	Input Input
	// Coverage may be nil. Clocks has the most different clock of a rank, nil if all agree.
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
	FindSequences   func() *sequences.Sequences // once a rule asks, in place of Sequences
	Extent          *timeline.Extent
	Lateness        []collective.Lateness
	Collectives     []collective.Row
	Alike           []requests.Alike
	Engines         []engines.Engine
	First           *steps.First
	Steps           []steps.Row
	// Forest and Replay may be nil. Their rules then have no findings.
	Forest *trace.Forest
	Replay func() *replay.Graph
}

// Input describes the input.
type Input struct {
	Files, Bytes int64
	// Formats has the names of the files' formats.
	Formats []string
	// Models has the names of the devices that the files state.
	Models []string

	Spans, Entries, Malformed, Truncated, Dropped, MissingEntries, SuspectDurations int64

	// Summarized counts operations known from sums only, without times.
	Summarized int64

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

type list struct {
	Facts
	// first holds the doubts about the figures, and the bound. They come before all others.
	first, all []Finding
	failed     []Finding // come after the bound
	unknown    string    // why times between operations are not known, "" if they are
	// whole is the divided time: the paths of the requests, or the extent on each of devicesNum devices.
	whole, devicesNum int64
	byRequest         bool
	// by divides whole. queuedNS of the host's part is waiting in queues. Of idle time, quietNS is without a request, and
	// betweenNS between the steps of a loop.
	by                           path.BoundBy
	queuedNS, quietNS, betweenNS int64
	outsideNS                    int64             // the time of work outside the recording
	queuedIn                     map[string]int64  // queuedNS by span name, not capped
	ranks                        bool              // several ranks are known
	names                        map[string]string // of operations, as sentences name them
	hostCalls                    map[string]int64  // calls of the host by operation
	// late is the device with the largest delay of others in collectives. If it is nil, spread describes the waiting.
	late    *blamed
	spread  string
	replays chan struct{} // holds one for each running replay, and each needs memory
	once
}

// once has the results of searches that several rules ask for, each computed on first use.
type once struct {
	pauses, engineHost, unevenDevices, elementwise, takingTurns func() []candidate
	starts                                                      func() starts
	launched                                                    func() map[string]int64
	transfers                                                   func() map[string]string // names of collectives by operation
	mostWork                                                    func() *uneven.Device
	equals                                                      func() []replay.Replica
	betweenServices                                             func() []executions.Calls
	slowLayers                                                  func() []layers.Layer
}

// by returns the finding with a rule.
func (f Finding) by(rule string) Finding {
	f.Rule = rule
	return f
}

func says(kind Kind, where Where, format string, args ...any) Finding {
	return Finding{Kind: kind, Where: where, Text: fmt.Sprintf(format, args...)}
}

// part formats a time with its share of the whole.
func (l *list) part(ns int64) string {
	return units.Duration(ns) + " (" + units.Percent(float64(ns)/float64(max(1, l.whole))) + ")"
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
