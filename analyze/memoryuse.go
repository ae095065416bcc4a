package analyze

import (
	"math"
	"math/bits"
)

// MemoryUse tells how much memory operations wrote and held over time.
type MemoryUse struct {
	TimeAxis
	// Devices has a row per device with starts, by rank and name.
	Devices []DeviceMemory `json:"devices"`
}

// DeviceMemory is the memory of one device over time.
type DeviceMemory struct {
	DeviceKey
	// Written is the memory of the operations that start in each bucket.
	Written []int64 `json:"written_bytes"`
	// Running is the largest memory, at any moment of each bucket, of the
	// operations that run at that moment.
	Running []int64 `json:"running_bytes"`
}

// MemoryUse returns the memory of the operations of each device over time, in
// as many buckets as [Trace.Utilisation] makes. Operations whose memory is not
// known count as 0, and those without duration are in Written alone.
func (t *Trace) MemoryUse(buckets int) *MemoryUse {
	t.Build()
	use := &MemoryUse{TimeAxis: t.timeAxis(buckets), Devices: []DeviceMemory{}}
	if use.Buckets == 0 {
		return use
	}
	for _, device := range t.onDevice.order {
		rows := t.onDevice.of(device)
		if len(rows) == 0 {
			continue
		}
		m := DeviceMemory{
			DeviceKey: t.dict.devices.values[device],
			Written:   make([]int64, use.Buckets),
			Running:   make([]int64, use.Buckets),
		}
		written := make([]byteCount, use.Buckets)
		for _, r := range rows {
			// A start on the axis' very end, of an operation without duration,
			// belongs to the last bucket.
			b := min(use.bucket(t.start(r)), use.Buckets-1)
			written[b].add(t.memory(r))
		}
		for b := range written {
			m.Written[b] = written[b].int64()
		}
		for l := range t.levels(rows) {
			bytes := l.bytes.int64()
			use.spread(l.from, l.to, func(b int, _ int64) { m.Running[b] = max(m.Running[b], bytes) })
		}
		use.Devices = append(use.Devices, m)
	}
	return use
}

// byteCount is a sum of sizes that cannot overflow and can shrink again.
type byteCount struct{ hi, lo uint64 }

// add adds n; a negative n counts as 0.
func (c *byteCount) add(n int64) {
	var carry uint64
	c.lo, carry = bits.Add64(c.lo, uint64(max(n, 0)), 0)
	c.hi += carry
}

// remove takes off what add added.
func (c *byteCount) remove(n int64) {
	var borrow uint64
	c.lo, borrow = bits.Sub64(c.lo, uint64(max(n, 0)), 0)
	c.hi -= borrow
}

// int64 returns the sum, the largest int64 where it does not fit.
func (c byteCount) int64() int64 {
	if c.hi != 0 || c.lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(c.lo)
}
