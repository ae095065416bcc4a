package profile

import (
	"cmp"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/peaks"
)

// The defaults of [Options].
const (
	DefaultMaxGroups    = 100_000
	DefaultTop          = 10
	DefaultHotspotBytes = 1 << 20
)

// Options configures a [Profile]. The zero value stands for the defaults.
type Options struct {
	// By lists the keys of the groups that are summed up in addition to the operations and
	// devices. The local roots are those that operations state.
	By []key.Key
	// MaxGroups bounds the rows of each table; further groups share one row named
	// "(other)". 0 is DefaultMaxGroups.
	MaxGroups int
	// Top bounds the lists of the slowest entries and of the memory hotspots. 0 is
	// DefaultTop, a negative number lists none.
	Top int
	// HotspotBytes is the memory above which an entry is a hotspot. 0 is
	// DefaultHotspotBytes, a negative number stands for 0.
	HotspotBytes int64
	// MinCommunicationRatio is the share of the total duration from which an
	// operation that communicates is a bottleneck.
	MinCommunicationRatio float64
	// RecordedFLOPs takes no FLOPs but those that were recorded.
	RecordedFLOPs bool
	// Peaks has the peaks of devices, by which operations get a roofline; nil for none.
	Peaks *peaks.Table
}

// WithDefaults returns the options with the defaults in place of zeros.
func (o Options) WithDefaults() Options {
	o.MaxGroups = cmp.Or(max(0, o.MaxGroups), DefaultMaxGroups)
	o.Top = max(0, cmp.Or(o.Top, DefaultTop))
	o.HotspotBytes = max(0, cmp.Or(o.HotspotBytes, DefaultHotspotBytes))
	return o
}
