package trace

import (
	"unsafe"

	"github.com/optrace/optrace/op"
)

// builtBytes is the approximate memory of a row's tree and sort orders, beside its columns.
const builtBytes = 28

// stepBytes is the approximate memory of package steps for a run of operations of one lane and step.
const stepBytes = 400

// stepRuns counts runs of consecutive operations of a lane with the same step.
type stepRuns struct {
	last []op.Int // by lane
	n    int64
}

func (s *stepRuns) add(lane int32, step int64) {
	for len(s.last) <= int(lane) {
		s.last = append(s.last, op.Int{})
	}
	if next := op.Known(step); s.last[lane] != next {
		s.last[lane] = next
		s.n++
	}
}

// Bytes returns the approximate memory of f, including its tree.
func (f *Forest) Bytes() int64 {
	return f.columns.bytes + int64(f.Rows())*builtBytes + int64(cap(f.links))*int64(unsafe.Sizeof(rowLink{})) +
		int64(cap(f.Collectives))*int64(unsafe.Sizeof(Collective{})) +
		int64(cap(f.Calls))*int64(unsafe.Sizeof(Call{})) +
		f.Names.bytes() + f.attrBytes + f.steps.n*stepBytes
}

func (d *Names) bytes() int64 {
	text := func(s string) int { return len(s) }
	return d.Traces.Bytes(nil) + d.Operations.Bytes(text) + d.Shapes.Bytes(text) + d.Launchers.Bytes(text) +
		d.Groups.Bytes(text) + d.Errors.Bytes(text) + d.Arguments.Bytes(text) + d.Varieties.texts.Bytes(text) +
		int64(cap(d.Varieties.Values))*int64(unsafe.Sizeof(Variety{})) +
		d.Spans.Bytes(func(s spanName) int { return len(s.Name) + len(s.Service) }) +
		d.Lanes.Bytes(func(l Lane) int {
			return len(l.Device.DeviceID) + len(l.Device.Service) + len(l.Device.Host) + len(l.Service)
		}) +
		d.Stamps.Bytes(func(s stamp) int { return len(s.Name) }) +
		d.Marks.Bytes(func(m Mark) int { return len(m.StepName) + len(m.Phase) }) +
		d.Graphs.Bytes(func(g Graph) int { return len(g.ID) + len(g.Call) + len(g.Node) })
}
