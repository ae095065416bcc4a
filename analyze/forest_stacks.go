package analyze

import (
	"io"

	"github.com/optrace/optrace/analyze/internal/stacks"
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
// host are frames without a weight of their own: waiting is no work of a device. Stacks without weight are left out.
//
// In frames a semicolon becomes a colon and control characters become spaces;
// frames that are equal then are one.
func (f *Forest) WriteCollapsed(w io.Writer) error {
	f.build()
	return f.collapse().Write(w)
}

// collapse builds the stacks of all operations.
func (f *Forest) collapse() *stacks.Tree {
	s := stacks.NewTree()
	frames := f.frameTable(s)
	var below descent
	pending := make([]stackVisit, 0, 64)
	push := func(rows []int32, above stackVisit) {
		for _, r := range rows {
			pending = append(pending, stackVisit{row: r, stack: above.stack, device: above.device})
		}
	}
	push(f.tree.roots, stackVisit{stack: stacks.Root, device: noRow})
	for len(pending) > 0 {
		v := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if d, frame := frames.device(f, v.row); frame != noFrame && d != v.device {
			v.device = d
			v.stack = s.Below(v.stack, frame)
		}
		v.stack = s.Below(v.stack, frames.of(f, v.row))
		if f.isDeviceSide(v.row) {
			s.Add(v.stack, f.selfTime(v.row, &below))
		}
		push(f.tree.children(v.row), v)
	}
	return s
}

// stackVisit is a row whose frames are to be added to a stack.
type stackVisit struct {
	row    int32
	stack  int32 // the stack above
	device int32 // the last one on that stack; noRow for none
}

// frameTable holds the frame of each name.
type frameTable struct {
	operations, spans, devices []int32
}

// noFrame stands for the absence of a frame.
const noFrame int32 = -1

func (f *Forest) frameTable(s *stacks.Tree) frameTable {
	var table frameTable
	for _, name := range f.dict.operations.Values {
		table.operations = append(table.operations, s.Frame(name))
	}
	for _, span := range f.dict.spans.Values {
		table.spans = append(table.spans, s.Frame(span.name))
	}
	for _, device := range f.onDevice.keys {
		if device.IsNone() {
			table.devices = append(table.devices, noFrame)
			continue
		}
		table.devices = append(table.devices, s.Frame(device.Label(f.onDevice.ranks)))
	}
	return table
}

func (f *frameTable) of(forest *Forest, r int32) int32 {
	if forest.has(r, flagOp) {
		return f.operations[forest.name(r)]
	}
	return f.spans[forest.name(r)]
}

// device returns the device of row r and its frame, noFrame when it is not
// known or r did not run on a device.
func (f *frameTable) device(forest *Forest, r int32) (device, frame int32) {
	if !forest.isDeviceSide(r) {
		return noRow, noFrame
	}
	device = forest.device(r)
	return device, f.devices[device]
}
