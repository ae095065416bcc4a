package profile

import (
	"cmp"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/peaks"
)

// Defaults of [Options].
const (
	DefaultMaxGroups    = 100_000
	DefaultTop          = 10
	DefaultHotspotBytes = 1 << 20
)

// Options configures a [Profile]. The zero value means the defaults.
type Options struct {
	// By lists the keys of the groups to sum up, in addition to operations and devices.
	By []key.Key
	// MaxGroups bounds the rows of each table; further groups share one row named "(other)".
	// 0 means DefaultMaxGroups.
	MaxGroups int
	// Top bounds the lists of slowest entries and memory hotspots. 0 means DefaultTop, a negative number lists no
	// entries.
	Top int
	// HotspotBytes is the memory above which an entry is a hotspot. 0 means DefaultHotspotBytes, a negative
	// number means 0.
	HotspotBytes int64
	// MinCommunicationRatio is the smallest share of the total duration for a communicating operation to count
	// as a bottleneck.
	MinCommunicationRatio float64
	// RecordedFLOPs uses recorded FLOPs only.
	RecordedFLOPs bool
	// Peaks has the peak rates of devices for rooflines; nil for none.
	Peaks *peaks.Table
}

// WithDefaults returns o with defaults in place of zeros.
func (o Options) WithDefaults() Options {
	o.MaxGroups = cmp.Or(max(0, o.MaxGroups), DefaultMaxGroups)
	o.Top = max(0, cmp.Or(o.Top, DefaultTop))
	o.HotspotBytes = max(0, cmp.Or(o.HotspotBytes, DefaultHotspotBytes))
	return o
}
