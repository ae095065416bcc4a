package analyze

import (
	"strings"

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

// copies sums up what was copied in one direction.
type copies struct {
	count int64
	sum   wide
	bytes wide
	// timed and timedBytes are of the copies from which a rate can be computed.
	timed, timedBytes wide
}

func (c *copies) add(e *op.Entry) {
	c.count++
	c.sum.add(e.Duration)
	c.bytes.add(e.MemoryBytes.V)
	if e.MemoryBytes.Known && e.Duration > 0 {
		c.timed.add(e.Duration)
		c.timedBytes.add(e.MemoryBytes.V)
	}
}

func (c *copies) merge(o *copies) {
	c.count += o.count
	c.sum.merge(o.sum)
	c.bytes.merge(o.bytes)
	c.timed.merge(o.timed)
	c.timedBytes.merge(o.timedBytes)
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
			Direction: directionNames[d], Count: c.count, SumNS: c.sum.int64(), MemoryBytes: c.bytes.int64(),
		}
		if ns := c.timed.float64(); ns > 0 {
			rate := c.timedBytes.float64() / ns * 1e9
			row.BytesPerSecond = &rate
		}
		rows = append(rows, row)
	}
	return rows
}
