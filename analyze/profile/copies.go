package profile

import (
	"strings"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

// direction is between which sides memory is copied.
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

// copies sums up the copies in one direction.
type copies struct {
	count int64
	sum   wide.Sum
	bytes wide.Sum
	// timed and timedBytes are of the copies from which a rate can be computed.
	timed, timedBytes wide.Sum
}

func (c *copies) add(duration int64, memory op.Int) {
	c.count++
	c.sum.Add(duration)
	c.bytes.Add(memory.V)
	if memory.Known && duration > 0 {
		c.timed.Add(duration)
		c.timedBytes.Add(memory.V)
	}
}

func (c *copies) merge(o *copies) {
	c.count += o.count
	c.sum.Merge(o.sum)
	c.bytes.Merge(o.bytes)
	c.timed.Merge(o.timed)
	c.timedBytes.Merge(o.timedBytes)
}

// copyRows returns a row per direction that occurs, never nil.
func copyRows(all *[numDirections]copies) []Copy {
	rows := []Copy{}
	for d := hostToDevice; d < numDirections; d++ {
		c := &all[d]
		if c.count == 0 {
			continue
		}
		row := Copy{
			Direction: directionNames[d], Count: c.count, SumNS: c.sum.Int64(), MemoryBytes: c.bytes.Int64(),
		}
		if ns := c.timed.Float64(); ns > 0 {
			rate := c.timedBytes.Float64() / ns * 1e9
			row.BytesPerSecond = op.KnownFloat(rate)
		}
		rows = append(rows, row)
	}
	return rows
}
