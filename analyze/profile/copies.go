package profile

import (
	"strings"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

type direction uint8

const (
	noDirection direction = iota
	hostToDevice
	deviceToHost
	deviceToDevice
	peerToPeer
	numDirections
)

var directionNames = [numDirections]string{
	hostToDevice: "HtoD", deviceToHost: "DtoH", deviceToDevice: "DtoD", peerToPeer: "PtoP",
}

// copyDirection reads the direction from the name of a copy, ignoring case.
//
//	Memcpy HtoD (Pageable -> Device)   HtoD
//	memcpy_dtoh                        DtoH
//	Memset (Device)                    none
func copyDirection(operation string) direction {
	lower := strings.ToLower(operation)
	for d := hostToDevice; d < numDirections; d++ {
		if strings.Contains(lower, strings.ToLower(directionNames[d])) {
			return d
		}
	}
	return noDirection
}

type copies struct {
	entrySums
	// TimedNS and TimedBytes are of the copies from which a rate can be computed.
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

// copyRows returns a row per direction that occurs, never nil.
func copyRows(all *[numDirections]copies) []Copy {
	rows := []Copy{}
	for d := hostToDevice; d < numDirections; d++ {
		c := &all[d]
		if c.Count == 0 {
			continue
		}
		row := Copy{
			Direction: directionNames[d], Count: c.Count, SumNS: c.SumNS.Int64(), MemoryBytes: c.known(),
		}
		if ns := c.TimedNS.Float64(); ns > 0 {
			rate := c.TimedBytes.Float64() / ns * 1e9
			row.BytesPerSecond = op.KnownFloat(rate)
		}
		rows = append(rows, row)
	}
	return rows
}
