package analyze

import (
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Options configures a report. The zero value means the defaults.
type Options struct {
	// By lists the keys of the groups to sum up, in addition to operations and devices. For key.Root and key.Operator,
	// [Run] stores the structure of the run and fills in values missing from operations.
	By []key.Key
	// Filter reports whether an operation counts; nil counts all. A rejected operation appears only in
	// [Envelope].SkippedBy as "filtered". Below a span it keeps its place in the tree, as a plain span.
	// The entry is valid until Filter returns. Filter is called concurrently with more than one worker.
	Filter func(*op.Entry) bool
	// Amend completes an operation before all else, nil for none. It is called like Filter.
	Amend func(*op.Entry)
	// Where selects requests of engines by the keys that requests have: attributes, service and trace.
	Where key.Filter
	// MaxGroups bounds the rows of each table; further groups share one row named "(other)".
	// 0 means profile.DefaultMaxGroups.
	MaxGroups int
	// Top bounds the lists of slowest entries, memory hotspots, idle gaps and repeated sequences.
	// 0 means profile.DefaultTop, a negative number lists no entries.
	Top int
	// HotspotBytes is the memory above which an entry is a hotspot. 0 means profile.DefaultHotspotBytes, a negative
	// number means 0.
	HotspotBytes int64
	// MinCommunicationRatio is the smallest share of the total duration for a communicating operation
	// to count as a bottleneck.
	MinCommunicationRatio float64
	// SumsOnly omits all figures that need the structure of the run, such as self times, timelines and critical paths.
	// The memory of [Run] then does not grow with the number of entries, unless By has key.Root or key.Operator.
	SumsOnly bool
	// Sections lists the sections to compute, by their names in package text, and "overview" for the first screen;
	// nil means all. Figures of other sections stay unknown, as with SumsOnly.
	Sections []string
	// KeepForest stores the structure of the run in [Report].Forest, with shapes, FLOPs and arguments, for renderers
	// of single operations.
	KeepForest bool
	// RecordedFLOPs uses recorded FLOPs only. FLOPs and bytes are then not derived from shapes, so
	// each entry takes less time.
	RecordedFLOPs bool
	// AlignClocks shifts the times of ranks to a common clock before computing figures, by the offsets between ends of
	// collectives. [Report].Clocks has the offsets. Listed entries keep their recorded times. SumsOnly disables it.
	AlignClocks bool
	// Peaks has the peak rates of devices for rooflines; nil for none.
	Peaks *peaks.Table
	// Steady restricts the report to the steady state, see [steps.SteadyOf]. It reads the input twice.
	// Run returns [ErrNotSteady] for an input without a steady state.
	Steady bool
	// Workers is the number of reading goroutines; 0 means GOMAXPROCS. It does not affect the report.
	Workers int
}

// Want returns the attributes and partial results that [Run] needs beside the fields of entries. Run passes it to
// a Source with a method Want(attr.Want).
func (o Options) Want() attr.Want {
	want := attr.Want{Partials: !o.KeepForest, Keep: o.attrs()}
	if o.wantsEngines() {
		want.Spans = engines.Keys()
	}
	if o.KeepForest {
		want.Keep = append(want.Keep, attrkey.Shown[:]...)
	}
	return want
}

func (o Options) attrs() []string {
	var names []string
	for _, k := range slices.Concat(o.By, o.Where.Keys()) {
		if k.Attr() != "" {
			names = append(names, k.Attr())
		}
	}
	return names
}

// wants reports whether the report includes one of the space-separated sections.
func (o *Options) wants(sections string) bool {
	isWanted := func(s string) bool { return slices.Contains(strings.Fields(sections), s) }
	return o.Sections == nil || slices.ContainsFunc(o.Sections, isWanted)
}

func (o *Options) wantsEngines() bool { return !o.SumsOnly && o.wants("overview findings engines") }

func (o Options) sums() profile.Options {
	return profile.Options{
		By: o.By, MaxGroups: o.MaxGroups, Top: o.Top, HotspotBytes: o.HotspotBytes,
		MinCommunicationRatio: o.MinCommunicationRatio, RecordedFLOPs: o.RecordedFLOPs, Peaks: o.Peaks,
	}
}
