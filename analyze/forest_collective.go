package analyze

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/symbols"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

// CollectiveRow sums up the collectives of one name and group across the
// devices that took part in them.
//
// A collective ends for all at about the same time, so the device that was
// last to arrive spends the least time in it. That least time counts as the
// transfer, and the additional time of the others as waiting.
//
//	rank 0   |--------------------|   [0,100)    waits 60
//	rank 1               |--------|   [60,100)   waits 0: the straggler
//
//	transfer 40, wait 60, start skew 60
type CollectiveRow struct {
	// Name is the collective, such as "all_reduce", or the name of its
	// operations where nothing else is known.
	Name  string `json:"name"`
	Group string `json:"group"`
	// Count is how many collectives there were. Inferred of them were matched by
	// their place in the order of each device, because they carry no sequence
	// number, and Single were seen on one device only: they take no part in the
	// figures below.
	Count    int64 `json:"count"`
	Inferred int64 `json:"inferred"`
	Single   int64 `json:"single"`
	// TransferNS is the sum of the transfers, WaitNS the time that all devices
	// together waited.
	TransferNS int64 `json:"transfer_ns"`
	WaitNS     int64 `json:"wait_ns"`
	// MaxStartSkewNS is the longest time between the first and the last device
	// to start the same collective; nil when no starts are known.
	MaxStartSkewNS op.Int `json:"max_start_skew_ns"`
	// AlgorithmBytesPerSecond is size by transfer, BusBytesPerSecond the traffic
	// of the links for it; unknown where the sizes are.
	AlgorithmBytesPerSecond op.Float `json:"algorithm_bytes_per_second"`
	BusBytesPerSecond       op.Float `json:"bus_bytes_per_second"`
	// Stragglers has a row per device that waited least, the most frequent
	// first.
	Stragglers []Straggler `json:"stragglers"`
}

// Straggler is a device that others waited for.
type Straggler struct {
	DeviceKey
	// Count is for how many collectives, CausedWaitNS for how long all others
	// together.
	Count        int64 `json:"count"`
	CausedWaitNS int64 `json:"caused_wait_ns"`
}

// collectiveRows returns the collectives across devices, the largest sum of
// transfers first. Entries are of one collective when they agree in name,
// group and sequence number. Where there is no sequence number, the n-th of a
// name and group on each device belong together, and the row counts them as
// inferred.
func (f *Forest) collectiveRows() []CollectiveRow {
	c := &f.collected
	entries := c.sorted()
	rows := []CollectiveRow{}
	for len(entries) > 0 {
		sum := collectiveSum{collectiveName: c.names.Values[entries[0].name], stragglers: make(map[int32]*stragglerSum)}
		for name := entries[0].name; len(entries) > 0 && entries[0].name == name; {
			n := 1
			for n < len(entries) && entries[n].sameCollective(&entries[0]) {
				n++
			}
			sum.add(entries[:n])
			entries = entries[n:]
		}
		rows = append(rows, sum.row(c.devices.Values))
	}
	slices.SortStableFunc(rows, func(a, b CollectiveRow) int { return compareInt(b.TransferNS, a.TransferNS) })
	return rows
}

// collectiveSum sums up the collectives of one name and group.
type collectiveSum struct {
	collectiveName
	count, inferred, single int64
	transfer, wait          wide.Sum
	skew                    op.Int
	// timed and carried are of the collectives whose sizes are known.
	timed, moved wide.Sum
	carried      float64
	noFactor     bool
	stragglers   map[int32]*stragglerSum // by number of the device
}

type stragglerSum struct {
	count  int64
	caused wide.Sum
}

// add adds one collective, given the parts of its devices.
func (s *collectiveSum) add(parts []collectiveEntry) {
	s.count++
	if parts[0].inferred {
		s.inferred++
	}
	last := slices.MinFunc(parts, func(a, b collectiveEntry) int { return compareInt(a.duration, b.duration) })
	if parts[0].device == parts[len(parts)-1].device { // they are sorted
		s.single++
		return
	}
	var wait wide.Sum
	bytes, groupSize := int64(0), int64(len(parts))
	for _, p := range parts {
		wait.Add(p.duration - last.duration)
		if p.sized {
			bytes = max(bytes, p.bytes)
		}
		groupSize = max(groupSize, int64(p.groupSize))
	}
	s.transfer.Add(last.duration)
	s.wait.Merge(wait)
	s.addSkew(parts)
	if wait != (wide.Sum{}) {
		s.addStraggler(last.device, wait)
	}
	if bytes > 0 && last.duration > 0 {
		s.timed.Add(last.duration)
		s.moved.Add(bytes)
		factor, ok := busFactor(s.name, groupSize)
		s.carried += float64(bytes) * factor
		s.noFactor = s.noFactor || !ok
	}
}

func (s *collectiveSum) addSkew(parts []collectiveEntry) {
	first, latest := parts[0].start, parts[0].start
	for _, p := range parts {
		if !p.started {
			return
		}
		first, latest = min(first, p.start), max(latest, p.start)
	}
	s.skew = op.Known(max(s.skew.V, latest-first))
}

func (s *collectiveSum) addStraggler(device int32, caused wide.Sum) {
	sum := s.stragglers[device]
	if sum == nil {
		sum = new(stragglerSum)
		s.stragglers[device] = sum
	}
	sum.count++
	sum.caused.Merge(caused)
}

// row returns the sums; devices has the keys of the devices by number.
func (s *collectiveSum) row(devices []DeviceKey) CollectiveRow {
	row := CollectiveRow{
		Name: s.name, Group: s.group, Count: s.count, Inferred: s.inferred, Single: s.single,
		TransferNS: s.transfer.Int64(), WaitNS: s.wait.Int64(),
		Stragglers: []Straggler{},
	}
	if s.skew.Known {
		row.MaxStartSkewNS = s.skew
	}
	if seconds := s.timed.Float64() / 1e9; seconds > 0 {
		algorithm, bus := s.moved.Float64()/seconds, s.carried/seconds
		row.AlgorithmBytesPerSecond = op.KnownFloat(algorithm)
		if !s.noFactor {
			row.BusBytesPerSecond = op.KnownFloat(bus)
		}
	}
	for device, sum := range s.stragglers {
		row.Stragglers = append(row.Stragglers, Straggler{DeviceKey: devices[device], Count: sum.count, CausedWaitNS: sum.caused.Int64()})
	}
	slices.SortFunc(row.Stragglers, func(a, b Straggler) int {
		return cmp.Or(compareInt(b.Count, a.Count), a.DeviceKey.Compare(b.DeviceKey))
	})
	return row
}

// busFactor is how much the links carry per byte of a collective among n
// devices with the best algorithm; ok is false for a collective that is not
// known.
//
//	all_reduce                                2(n−1)/n
//	all_gather, reduce_scatter, all_to_all    (n−1)/n
//	broadcast, reduce, send, recv             1
func busFactor(name string, n int64) (factor float64, ok bool) {
	plain := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
	share := float64(n-1) / float64(n)
	for _, known := range []struct {
		word   string
		factor float64
	}{
		{"allreduce", 2 * share}, {"allgather", share}, {"reducescatter", share}, {"alltoall", share},
		{"broadcast", 1}, {"reduce", 1}, {"send", 1}, {"recv", 1},
	} {
		if strings.Contains(plain, known.word) {
			return known.factor, true
		}
	}
	return 0, false
}

// collectives keeps the entries of kind collective, 48 bytes each. The zero
// value is ready to use.
type collectives struct {
	names   symbols.Table[collectiveName]
	devices symbols.Table[DeviceKey]
	entries []collectiveEntry
}

// collectiveName identifies a row.
type collectiveName struct{ name, group string }

// collectiveEntry is the part that one device had in a collective.
type collectiveEntry struct {
	name, device int32
	groupSize    int32 // 0 when not known
	inferred     bool  // number is a place, not a sequence number
	started      bool  // start is known
	sized        bool  // bytes is known
	// number is the sequence number, or else the place among the device's
	// collectives of the name.
	number   int64
	start    int64
	duration int64
	bytes    int64
}

// add adds e if it is of kind collective and not the host's view of one.
func (c *collectives) add(e *op.Entry) {
	if e.Kind != op.KindCollective || e.Side == op.SideHost {
		return
	}
	name := collectiveName{name: e.Operation}
	entry := collectiveEntry{
		inferred: true,
		started:  e.Start.Known, start: e.Start.V,
		duration: max(0, e.Duration),
		sized:    e.MemoryBytes.Known, bytes: e.MemoryBytes.V,
	}
	if of := e.Collective; of != nil {
		name = collectiveName{cmp.Or(of.Name, e.Operation), of.Group}
		entry.inferred, entry.number = !of.Sequence.Known, of.Sequence.V
		entry.groupSize = int32(min(max(0, of.GroupSize.V), math.MaxInt32))
		if bytes, ok := messageBytes(of, e.DType); ok {
			entry.sized, entry.bytes = true, bytes
		}
	}
	entry.name, entry.device = c.names.ID(name), c.devices.ID(deviceOf(e))
	c.entries = append(c.entries, entry)
}

// messageBytes returns the size of the larger side of a collective, the one
// that bandwidth is about; ok is false where it is not known.
func messageBytes(c *op.Collective, t op.DType) (bytes int64, ok bool) {
	n, size := max(c.InElements.V, c.OutElements.V), t.Size()
	if n <= 0 || size == 0 || n > math.MaxInt64/size {
		return 0, false
	}
	return n * size, true
}

// sorted returns a copy of the entries, by name and then by collective, the
// devices of each in order.
func (c *collectives) sorted() []collectiveEntry {
	entries := slices.Clone(c.entries)
	c.number(entries)
	slices.SortStableFunc(entries, func(a, b collectiveEntry) int {
		nameA, nameB := &c.names.Values[a.name], &c.names.Values[b.name]
		return cmp.Or(
			strings.Compare(nameA.name, nameB.name), strings.Compare(nameA.group, nameB.group),
			compareFlag(a.inferred, b.inferred), compareInt(a.number, b.number),
			c.devices.Values[a.device].Compare(c.devices.Values[b.device]),
		)
	})
	return entries
}

// number gives entries without a sequence number their place in the order of
// their device: by start, those without one last, and in the order of the
// input where these are equal.
func (c *collectives) number(entries []collectiveEntry) {
	slices.SortStableFunc(entries, func(a, b collectiveEntry) int {
		return cmp.Or(compareFlag(b.started, a.started), compareInt(a.start, b.start))
	})
	type place struct{ name, device int32 }
	next := make(map[place]int64)
	for i := range entries {
		e := &entries[i]
		if e.inferred {
			at := place{e.name, e.device}
			e.number = next[at]
			next[at]++
		}
	}
}

// sameCollective reports whether both are parts of one collective.
func (e *collectiveEntry) sameCollective(o *collectiveEntry) bool {
	return e.name == o.name && e.inferred == o.inferred && e.number == o.number
}

// compareFlag orders false before true.
func compareFlag(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
