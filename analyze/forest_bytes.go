package analyze

import "unsafe"

// builtBytes is about what a row takes once the tree and the orders of the rows are
// built, beside its columns.
const builtBytes = 24

// Bytes returns about how much memory f takes, its tree included.
func (f *Forest) Bytes() int64 {
	return f.columns.bytes + int64(f.rowCount())*builtBytes + int64(cap(f.links))*int64(unsafe.Sizeof(rowLink{})) +
		int64(cap(f.collected))*int64(unsafe.Sizeof(collective{})) + f.dict.bytes()
}

// bytes returns about how much memory d takes.
func (d *dictionary) bytes() int64 {
	t := &d.counted
	for _, s := range d.operations.Values[t.operations:] {
		t.texts += int64(len(s))
	}
	for _, s := range d.spans.Values[t.spans:] {
		t.texts += int64(len(s.name) + len(s.service))
	}
	for _, l := range d.lanes.Values[t.lanes:] {
		t.texts += int64(len(l.device.DeviceID) + len(l.device.Service) + len(l.device.Host) + len(l.service))
	}
	for _, s := range d.stamps.Values[t.stamps:] {
		t.texts += int64(len(s.name))
	}
	for _, s := range d.shapes.Values[t.shapes:] {
		t.texts += int64(len(s))
	}
	t.operations, t.spans, t.lanes = len(d.operations.Values), len(d.spans.Values), len(d.lanes.Values)
	t.stamps, t.shapes = len(d.stamps.Values), len(d.shapes.Values)
	return t.texts + d.traces.Bytes() + d.operations.Bytes() + d.spans.Bytes() + d.lanes.Bytes() + d.stamps.Bytes() +
		d.shapes.Bytes() + d.groups.Bytes() + d.varieties.Bytes()
}

// countedTexts is how many values of each kind have had their texts counted, and how long
// the texts are: texts that several values share count each time.
type countedTexts struct {
	operations, spans, lanes, stamps, shapes int
	texts                                    int64
}
