package perfetto

import "github.com/optrace/optrace/op"

type clock struct {
	// offset is the difference to the trace's clock in nanoseconds.
	offset int64
	// unit is the length of a tick in nanoseconds.
	unit int64
	// increments is set if a time counts from the last one.
	increments bool
	last       uint64
}

// clocks converts times to the trace's clock.
type clocks struct {
	all map[uint64]*clock // except for clocks of a sequence
	// real is the difference from the trace's clock to Unix time.
	real  op.Int
	bytes int64 // approximate memory of the clocks
}

const clockBytes = 96

func isOfSequence(id uint64) bool { return firstSequenceClock <= id && id <= lastSequenceClock }

func (c *clocks) of(id uint64, seq *sequence) *clock {
	if isOfSequence(id) {
		return seq.clocks[id]
	}
	return c.all[id]
}

func (c *clocks) set(id uint64, seq *sequence, to clock) {
	table := &c.all
	if isOfSequence(id) {
		table = &seq.clocks
	}
	if *table == nil {
		*table = make(map[uint64]*clock)
	}
	if _, ok := (*table)[id]; !ok {
		c.bytes += clockBytes
	}
	(*table)[id] = &to
}

type reading struct {
	id, timestamp uint64
	clock
}

func (r *reading) ns() int64 { return int64(r.timestamp) * r.unit }

// snapshot places the clocks of a snapshot, see moment.
func (c *clocks) snapshot(b []byte, seq *sequence, bad *bool) {
	var readings []reading
	trace := uint64(clockBoottime)
	f := fieldsOf(b, bad)
	for f.next() {
		switch f.Field {
		case snapshotPrimary:
			trace = f.n
		case snapshotClocks:
			readings = append(readings, parseReading(f.data, bad))
		}
	}
	at, ok := c.moment(readings, trace, seq)
	if *bad || !ok {
		return
	}
	for i := range readings {
		r := &readings[i]
		r.offset = at - r.ns()
		r.last = r.timestamp
		c.set(r.id, seq, r.clock)
		if r.id == clockRealtime && !c.real.Known {
			c.real = op.Known(-r.offset)
		}
	}
}

// moment returns the time of a snapshot by the trace's clock: its own reading, or the reading of a clock placed before.
// In a trace without that clock the first clock outside sequences replaces it.
func (c *clocks) moment(readings []reading, trace uint64, seq *sequence) (ns int64, ok bool) {
	for i := range readings {
		if readings[i].id == trace {
			return readings[i].ns(), true
		}
	}
	for i := range readings {
		r := &readings[i]
		if known := c.of(r.id, seq); known != nil && !known.increments {
			return r.ns() + known.offset, true
		}
	}
	for i := range readings {
		if len(c.all) == 0 && !isOfSequence(readings[i].id) {
			return readings[i].ns(), true
		}
	}
	return 0, false
}

func parseReading(b []byte, bad *bool) (r reading) {
	m := single(b, bad)
	r.id = m[clockID].n
	r.timestamp = m[clockTimestamp].n
	r.increments = m[clockIncrements].n != 0
	r.unit = max(1, int64(m[clockMultiplier].n))
	return r
}

// time returns the time of a packet by the trace's clock, the default clock of packets. ok is false for an unplaced
// clock.
func (c *clocks) time(p *packet, seq *sequence) (ns int64, ok bool) {
	id := p.clock
	if id == 0 {
		id = seq.defaultClock
	}
	known := c.of(id, seq)
	switch {
	case id == 0, id == clockBoottime && known == nil:
		return int64(p.timestamp), true
	case known == nil:
		return 0, false
	}
	at := p.timestamp
	if known.increments {
		at += known.last
		known.last = at
	}
	return int64(at)*known.unit + known.offset, true
}
