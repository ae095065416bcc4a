package analyze

import (
	"bufio"
	"fmt"
	"io"
)

// MaxStackDepth is how many frames a collapsed stack has at most. What is
// deeper counts for a last frame named [DeeperFrame]: the stacks of a chain of
// a million calls would take a terabyte to write down.
const (
	MaxStackDepth = 512
	DeeperFrame   = "(deeper)"
)

// WriteCollapsed writes the self times of the operations as collapsed stacks,
// the input of flame graph tools: a line per distinct stack with the frames
// from the root down, joined by semicolons, a space and the sum of the self
// times in nanoseconds. Lines are sorted by stack and end in a line break.
//
//	POST /predict;inference;cuda:0;relu 40
//	POST /predict;inference;cuda:0;relu;matmul 60
//
// The device is a frame before the first operation on it, with its rank where
// there are several. Spans that are no operations and operations seen from the
// host are frames without a weight of their own: what they wait for is no work
// of a device. Stacks without weight are left out.
//
// In frames a semicolon becomes a colon and control characters become spaces;
// frames that are equal then are one.
func (t *Trace) WriteCollapsed(w io.Writer) error {
	t.Build()
	out := bufio.NewWriter(w)
	err := t.collapse().write(out)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("writing collapsed stacks: %w", err)
	}
	return nil
}

// collapse builds the stacks of all operations.
func (t *Trace) collapse() *stackTree {
	s := newStackTree()
	frames := t.frameTable(s)
	var below descent
	pending := make([]stackVisit, 0, 64)
	push := func(rows []int32, above stackVisit) {
		for _, r := range rows {
			pending = append(pending, stackVisit{row: r, stack: above.stack, device: above.device})
		}
	}
	push(t.tree.roots, stackVisit{stack: rootStack, device: noRow})
	for len(pending) > 0 {
		v := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if d, f := frames.device(t, v.row); f != noFrame && d != v.device {
			v.device = d
			v.stack = s.below(v.stack, f)
		}
		v.stack = s.below(v.stack, frames.of(t, v.row))
		if t.isDeviceSide(v.row) {
			s.nodes[v.stack].weight.add(t.selfTime(v.row, &below))
		}
		push(t.tree.children(v.row), v)
	}
	return s
}

// stackVisit is a row whose frames are to be added to a stack.
type stackVisit struct {
	row    int32
	stack  int32 // of what is above it
	device int32 // the last one on that stack; noRow for none
}

// frameTable holds the frame of each name.
type frameTable struct {
	operations, spans, devices []int32
}

// noFrame stands for the absence of a frame.
const noFrame int32 = -1

func (t *Trace) frameTable(s *stackTree) frameTable {
	var f frameTable
	for _, name := range t.dict.operations.values {
		f.operations = append(f.operations, s.frame(name))
	}
	for _, span := range t.dict.spans.values {
		f.spans = append(f.spans, s.frame(span.name))
	}
	for _, device := range t.dict.devices.values {
		if device.DeviceID == UnknownDevice {
			f.devices = append(f.devices, noFrame)
			continue
		}
		f.devices = append(f.devices, s.frame(device.Label(t.onDevice.ranks)))
	}
	return f
}

func (f *frameTable) of(t *Trace, r int32) int32 {
	if t.has(r, flagOp) {
		return f.operations[t.name(r)]
	}
	return f.spans[t.name(r)]
}

// device returns the device of row r and its frame, noFrame when it is not
// known or r did not run on a device.
func (f *frameTable) device(t *Trace, r int32) (device, frame int32) {
	if !t.isDeviceSide(r) {
		return noRow, noFrame
	}
	device = t.device(r)
	return device, f.devices[device]
}
