package profile

import (
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

// directions lists the names of directions; "" is no direction.
var directions = [...]string{"", "HtoD", "DtoH", "DtoD", "PtoP"}

// copyDirection returns the index in directions of the direction in a copy's name, ignoring case; 0 for none.
//
//	Memcpy HtoD (Pageable -> Device)   HtoD
//	memcpy_dtoh                        DtoH
//	Memset (Device)                    none
func copyDirection(operation string) uint8 {
	lower := strings.ToLower(operation)
	return uint8(1 + slices.IndexFunc(directions[1:], func(name string) bool {
		return strings.Contains(lower, strings.ToLower(name))
	}))
}

type copies struct {
	entrySums
	// TimedNS and TimedBytes cover copies with a known rate.
	TimedNS    wide.Sum `json:"timed_ns"`
	TimedBytes wide.Sum `json:"timed_bytes"`
}

func (c *copies) add(e *op.Entry) {
	c.entrySums.add(e)
	if e.MemoryBytes.Known && e.Duration > 0 {
		c.TimedNS.Add(e.Duration)
		c.TimedBytes.Add(e.MemoryBytes.V)
	}
}

func (c *copies) merge(o *copies) {
	c.entrySums.merge(&o.entrySums)
	c.TimedNS.Merge(o.TimedNS)
	c.TimedBytes.Merge(o.TimedBytes)
}

// copyRows returns a row per direction with copies, never nil.
func copyRows(all *[len(directions)]copies) []Copy {
	rows := []Copy{}
	for d := range all {
		c := &all[d]
		if c.Count == 0 {
			continue
		}
		row := Copy{
			Direction: directions[d], Count: c.Count, SumNS: c.SumNS.Int64(), MemoryBytes: c.known(),
		}
		if ns := c.TimedNS.Float64(); ns > 0 {
			rate := c.TimedBytes.Float64() / ns * 1e9
			row.BytesPerSecond = op.KnownFloat(rate)
		}
		rows = append(rows, row)
	}
	return rows
}
