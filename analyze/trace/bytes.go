package trace

import "unsafe"

// builtBytes is about what a row takes once the tree and the orders of the rows are
// built, beside its columns.
const builtBytes = 28

// Bytes returns about how much memory f takes, its tree included.
func (f *Forest) Bytes() int64 {
	return f.columns.bytes + int64(f.Rows())*builtBytes + int64(cap(f.links))*int64(unsafe.Sizeof(rowLink{})) +
		int64(cap(f.Collectives))*int64(unsafe.Sizeof(Collective{})) + int64(cap(f.Calls))*int64(unsafe.Sizeof(Call{})) + f.Names.bytes()
}

// bytes returns about how much memory d takes.
func (d *Names) bytes() int64 {
	t := &d.counted
	for _, s := range d.Operations.Values[t.operations:] {
		t.texts += int64(len(s))
	}
	for _, s := range d.Spans.Values[t.spans:] {
		t.texts += int64(len(s.Name) + len(s.Service))
	}
	for _, l := range d.Lanes.Values[t.lanes:] {
		t.texts += int64(len(l.Device.DeviceID) + len(l.Device.Service) + len(l.Device.Host) + len(l.Service))
	}
	for _, s := range d.Stamps.Values[t.stamps:] {
		t.texts += int64(len(s.Name))
	}
	for _, s := range d.Shapes.Values[t.shapes:] {
		t.texts += int64(len(s))
	}
	for _, s := range d.Launchers.Values[t.launchers:] {
		t.texts += int64(len(s))
	}
	for _, m := range d.Marks.Values[t.marks:] {
		t.texts += int64(len(m.StepName) + len(m.Phase))
	}
	for _, g := range d.Graphs.Values[t.graphs:] {
		t.texts += int64(len(g.ID) + len(g.Call) + len(g.Node))
	}
	t.launchers, t.marks, t.graphs = len(d.Launchers.Values), len(d.Marks.Values), len(d.Graphs.Values)
	t.operations, t.spans, t.lanes = len(d.Operations.Values), len(d.Spans.Values), len(d.Lanes.Values)
	t.stamps, t.shapes = len(d.Stamps.Values), len(d.Shapes.Values)
	return t.texts + d.Traces.Bytes() + d.Operations.Bytes() + d.Spans.Bytes() + d.Lanes.Bytes() + d.Stamps.Bytes() +
		d.Shapes.Bytes() + d.Launchers.Bytes() + d.Marks.Bytes() + d.Groups.Bytes() + d.Varieties.Bytes() + d.Arguments.Bytes() + d.Graphs.Bytes()
}
