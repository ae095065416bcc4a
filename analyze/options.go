package analyze

// The defaults of Options.
const (
	DefaultMaxGroups    = 100_000
	DefaultTop          = 10
	DefaultHotspotBytes = 1 << 20
)

// Options says what a profile keeps and a report shows. Start from
// [DefaultOptions]: the zero value of Top and HotspotBytes has a meaning.
type Options struct {
	// By is what entries are grouped by in addition to the operations and
	// devices; empty for no grouping.
	By []Key
	// MaxGroups bounds the rows of each table; what is beyond goes into a row
	// named "(other)". Values below 1 mean DefaultMaxGroups.
	MaxGroups int
	// Top bounds the slowest entries and the memory hotspots that are listed;
	// 0 lists none.
	Top int
	// HotspotBytes is the memory that a hotspot exceeds.
	HotspotBytes int64
	// MinCommunicationRatio is the part of the total duration from which on a
	// communicating operation is a bottleneck.
	MinCommunicationRatio float64
}

// DefaultOptions returns the options of a report when nothing else is asked
// for.
func DefaultOptions() Options {
	return Options{MaxGroups: DefaultMaxGroups, Top: DefaultTop, HotspotBytes: DefaultHotspotBytes}
}

func (o Options) maxGroups() int {
	if o.MaxGroups < 1 {
		return DefaultMaxGroups
	}
	return o.MaxGroups
}
