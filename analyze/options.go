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

// Options configures a report. The zero value stands for the
// defaults.
type Options struct {
	// By lists the keys of the groups that are summed up in addition to the
	// operations and devices. [Run] finds the local roots of operations that state
	// none, and keeps the structure of the run for that.
	By []key.Key
	// Filter reports whether an operation counts; nil lets all count. Those that do not are in
	// no figure but the counts of the input, which has them as skipped ("filtered"); one below a
	// span is a span like others. The entry is valid until Filter returns. Filter is called
	// concurrently if there are several Workers.
	Filter func(*op.Entry) bool
	// Where lets requests of engines count that have the values of those of its keys that requests have.
	Where key.Filter
	// MaxGroups bounds the rows of each table; further groups share one row named
	// "(other)". 0 is DefaultMaxGroups.
	MaxGroups int
	// Top bounds the lists of the slowest entries, of the memory hotspots, of the idle
	// gaps and of the repeated sequences. 0 is DefaultTop, a negative number lists none.
	Top int
	// HotspotBytes is the memory above which an entry is a hotspot. 0 is
	// DefaultHotspotBytes, a negative number stands for 0.
	HotspotBytes int64
	// MinCommunicationRatio is the share of the total duration from which an
	// operation that communicates is a bottleneck.
	MinCommunicationRatio float64
	// SumsOnly leaves out everything that needs the structure of the run: self
	// times, timelines, critical paths and so on. The memory that [Run] needs then
	// does not grow with the number of entries, unless By has the local root.
	SumsOnly bool
	// Sections lists the sections of the report whose figures are computed, as package text names them, and
	// "overview" for its first screen; nil is all. What only others show is not known, as with SumsOnly.
	Sections []string
	// KeepForest keeps the structure of the run in [Report].Forest, with the shapes, FLOPs and
	// arguments of its operations, for a renderer that shows them one by one.
	KeepForest bool
	// RecordedFLOPs takes no FLOPs but those that were recorded: what follows from
	// shapes, and the bytes that were moved, stays unknown. It saves time for each entry.
	RecordedFLOPs bool
	// AlignClocks moves the times of ranks onto the clock of one of them before the figures
	// that depend on times are computed, by how far the clocks are apart when collectives end.
	// [Report].Clocks says how far. Entries that are listed stay as recorded. It does nothing
	// with SumsOnly.
	AlignClocks bool
	// Peaks has the peaks of devices, by which operations get a roofline; nil for none.
	Peaks *peaks.Table
	// Steady leaves out the operations that are not in the steady state of the run, as [steps.SteadyOf]
	// has it: the input is read twice. Without a steady state Run returns [ErrNotSteady].
	Steady bool
	// Workers is the number of goroutines in which [Run] reads. The report does
	// not depend on it. 0 is GOMAXPROCS.
	Workers int
}

// Want returns the attributes and partial results that [Run] needs beside the fields of
// entries. Run passes it to a Source with a method Want(attr.Want).
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

// attrs returns the names of the attributes that By and Where use.
func (o Options) attrs() []string {
	var names []string
	for _, k := range slices.Concat(o.By, o.Where.Keys()) {
		if k.Attr() != "" {
			names = append(names, k.Attr())
		}
	}
	return names
}

// wants reports whether one of the sections, which are separated by blanks, is computed.
func (o *Options) wants(sections string) bool {
	return o.Sections == nil || slices.ContainsFunc(o.Sections, func(s string) bool { return slices.Contains(strings.Fields(sections), s) })
}

// wantsEngines reports whether the requests of engines are computed.
func (o *Options) wantsEngines() bool { return !o.SumsOnly && o.wants("overview findings engines") }

func (o Options) sums() profile.Options {
	return profile.Options{
		By: o.By, MaxGroups: o.MaxGroups, Top: o.Top, HotspotBytes: o.HotspotBytes,
		MinCommunicationRatio: o.MinCommunicationRatio, RecordedFLOPs: o.RecordedFLOPs, Peaks: o.Peaks,
	}
}
