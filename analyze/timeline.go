package analyze

// Parts says what a device did with its time, in nanoseconds. Every length is
// that of a union of intervals, so that parallel work counts once.
//
// Compute, ExposedCommunication, ExposedMemory, Other and Idle add up to Span
// exactly: time that several kinds fill belongs to the first of them in that
// order. Communication, Memory and Overlap count such time for each.
//
//	compute        [0,50)
//	communication      [30,80)
//	memory                    [90,100)
//
//	Span 100 = Compute 50 + ExposedCommunication 30 + ExposedMemory 10 + Other 0 + Idle 10
//	Communication 50, Overlap 20, OverlapRatio 0.4
type Parts struct {
	// Span is the last end minus the first start, Busy the part of it in which
	// anything ran, Idle the rest.
	Span, Busy, Idle int64
	// Compute is the time in which compute ran.
	Compute int64
	// ExposedCommunication is the time of communication without compute.
	ExposedCommunication int64
	// ExposedMemory is the time of copies without compute and communication.
	ExposedMemory int64
	// Other is the time in which operations of other kinds ran alone.
	Other int64
	// Communication and Memory are the time in which each of them ran, and
	// Overlap that in which communication and compute did.
	Communication, Memory, Overlap int64
}

// OverlapRatio returns the part of the communication that compute hides; ok is
// false when there was no communication.
func (p *Parts) OverlapRatio() (ratio float64, ok bool) {
	if p.Communication == 0 {
		return 0, false
	}
	return float64(p.Overlap) / float64(p.Communication), true
}

// add adds what happened in s.
func (p *Parts) add(s *stretch) {
	compute, communication, memory := s.active[classCompute], s.active[classCommunication], s.active[classMemory]
	p.Span += s.to - s.from
	p.Busy += s.busy
	p.Idle += s.to - s.from - s.busy
	p.Compute += compute
	p.Communication += communication
	p.Memory += memory
	p.Overlap += min(compute, communication)

	// All run from the beginning of the stretch: what lasts longer than those
	// that come first is exposed for the difference.
	settled := compute
	p.ExposedCommunication += max(0, communication-settled)
	settled = max(settled, communication)
	p.ExposedMemory += max(0, memory-settled)
	settled = max(settled, memory)
	p.Other += s.busy - settled
}

// Timeline is the timeline of one device.
type Timeline struct {
	DeviceKey
	// Parts is nil when no operation of the device has a start.
	Parts *Parts
}

// Timelines returns the timeline of each device, by rank and name. It counts
// operations without a side and those of the device side, with a start.
func (t *Trace) Timelines() []Timeline {
	t.Build()
	timelines := make([]Timeline, 0, len(t.onDevice.order))
	for _, device := range t.onDevice.order {
		line := Timeline{DeviceKey: t.dict.devices.values[device]}
		if rows := t.onDevice.of(device); len(rows) > 0 {
			line.Parts = new(Parts)
			for s := range t.sweep(rows) {
				line.Parts.add(s)
			}
		}
		timelines = append(timelines, line)
	}
	return timelines
}
