package findings

import (
	"github.com/optrace/optrace/analyze/findings/internal/copies"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/internal/text/units"
)

// migrations finds pages of unified memory that move when the other side touches them. Moved ahead, they take their bytes
// at the link's rate; the time between two of them is the host's or a fault's.
func (l *list) migrations() []candidate {
	var n, ns, bytes int64
	longest := ""
	for i := range l.Operations {
		if o := &l.Operations[i]; o.Side == "" && copies.IsMigration(o.Operation) {
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
	exposed, between := copies.Migrations(l.Forest)
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
