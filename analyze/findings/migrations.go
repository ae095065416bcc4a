package findings

import (
	"strings"

	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/text/units"
)

// isMigration reports whether a copy moves pages of unified memory, by its name in traces of Nsight Systems.
func isMigration(name string) bool { return strings.HasPrefix(name, "Memcpy Unified ") }

// migrations finds pages of unified memory that move when the other side touches them. Moved ahead, they take their bytes
// at the link's rate; the time between two of them is the host's or a fault's.
func (l *list) migrations() []candidate {
	var n, ns, bytes int64
	longest := ""
	for i := range l.Operations {
		if o := &l.Operations[i]; o.Side == "" && isMigration(o.Operation) {
			if longest == "" {
				longest = o.Operation
			}
			n += o.Count
			ns += o.SumNS
			bytes += o.MemoryBytes.V
		}
	}
	if n == 0 || l.Forest == nil {
		return nil
	}
	exposed, between := migrationTimes(l.Forest)
	saved := exposed + between - int64(float64(bytes)/linkRate*1e9)
	if !l.enough(saved / l.devicesNum) {
		return nil
	}
	f := says(Copies, Where{Section: "memory", Operation: longest},
		"Unified memory: %s move %s, %s each, in %s, with %s of idle time between one and the next.",
		units.Plural(n, "migration"), units.Bytes(bytes), units.Bytes(bytes/n), units.Duration(ns), l.part(between/l.devicesNum))
	f.Evidence = []Evidence{times("migrations", n), lasts("time", ns), lasts("idle between", between/l.devicesNum)}
	f.Try = "move pages ahead in large pieces (cudaMemPrefetchAsync), or copy from pinned memory"
	return []candidate{{Finding: f, saving: replay.Saving{NS: saved / l.devicesNum, HighNS: saved / l.devicesNum}, atMost: true}}
}

// migrationTimes returns the time of migrations while a device runs nothing else, and the idle time between two of them.
func migrationTimes(f *trace.Forest) (exposed, between int64) {
	for _, rows := range f.Devices.All() {
		busy, wasMigration := int64(0), false // until when, and by which kind of operation
		for i, r := range rows {
			is := isMigration(f.RowName(r))
			if i > 0 && is && wasMigration {
				between += max(0, f.Start(r)-busy)
			}
			if is {
				exposed += max(0, f.End(r)-max(f.Start(r), busy))
			}
			if f.End(r) > busy {
				busy, wasMigration = f.End(r), is
			}
		}
	}
	return exposed, between
}
