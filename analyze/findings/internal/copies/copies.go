// Package copies tells kinds of copies of devices apart.
package copies

import (
	"strings"

	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/trace"
)

// IsMigration reports whether a copy moves pages of unified memory, by its name in traces of Nsight Systems.
func IsMigration(name string) bool { return strings.HasPrefix(name, "Memcpy Unified ") }

// Migrations returns the time of migrations while a device runs nothing else, and the idle time between two of them.
func Migrations(f *trace.Forest) (exposed, between int64) {
	for _, rows := range f.Devices.All() {
		busy, wasMigration := int64(0), false // until when, and by which kind of operation
		for i, r := range rows {
			is := IsMigration(f.RowName(r))
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

// ThereAndBack reports whether many copies to a device and from it move about the same data.
func ThereAndBack(all []profile.Operation) bool {
	const many = 10
	var there, back int64 // bytes
	for i := range all {
		switch o := &all[i]; {
		case o.Count < many:
		case strings.Contains(o.Operation, "HtoD"):
			there += o.MemoryBytes.V
		case strings.Contains(o.Operation, "DtoH"):
			back += o.MemoryBytes.V
		}
	}
	return 2*min(there, back) > max(there, back)
}
