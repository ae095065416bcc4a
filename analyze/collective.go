package analyze

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/op"
)

// CollectiveRow sums up the collectives of one name and group across the
// devices that took part in them.
//
// A collective ends for all at about the same time, so the device that was
// last to arrive spends the least time in it. That least time is taken for the
// transfer, and what others spend longer for waiting.
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
	MaxStartSkewNS *int64 `json:"max_start_skew_ns"`
	// AlgorithmBytesPerSecond is size by transfer, BusBytesPerSecond what the
	// links carried for it; nil where the sizes are not known.
	AlgorithmBytesPerSecond *float64 `json:"algorithm_bytes_per_second"`
	BusBytesPerSecond       *float64 `json:"bus_bytes_per_second"`
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

// Collectives returns the collectives across devices, the largest sum of
// transfers first. Entries are of one collective when they agree in name,
// group and sequence number. Where there is no sequence number, the n-th of a
// name and group on each device belong together, and the row counts them as
// inferred.
func (t *Trace) Collectives() []CollectiveRow {
	c := &t.collected
	entries := c.sorted()
	rows := []CollectiveRow{}
	for len(entries) > 0 {
		sum := collectiveSum{collectiveName: c.names.values[entries[0].name], stragglers: make(map[int32]*stragglerSum)}
		for name := entries[0].name; len(entries) > 0 && entries[0].name == name; {
			n := 1
			for n < len(entries) && entries[n].sameCollective(&entries[0]) {
				n++
			}
			sum.add(entries[:n])
			entries = entries[n:]
		}
		rows = append(rows, sum.row(c.devices.values))
	}
	slices.SortStableFunc(rows, func(a, b CollectiveRow) int { return compareInt(b.TransferNS, a.TransferNS) })
	return rows
}

// collectiveSum sums up the collectives of one name and group.
type collectiveSum struct {
	collectiveName
	count, inferred, single int64
	transfer, wait          wide
	skew                    op.Int
	// timed and carried are of the collectives whose sizes are known.
	timed, moved wide
	carried      float64
	noFactor     bool
	stragglers   map[int32]*stragglerSum // by number of the device
}

type stragglerSum struct {
	count  int64
	caused wide
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
	var wait wide
	bytes, groupSize := int64(0), int64(len(parts))
	for _, p := range parts {
		wait.add(p.duration - last.duration)
		if p.sized {
			bytes = max(bytes, p.bytes)
		}
		groupSize = max(groupSize, int64(p.groupSize))
	}
	s.transfer.add(last.duration)
	s.wait.merge(wait)
	s.addSkew(parts)
	if wait != (wide{}) {
		s.addStraggler(last.device, wait)
	}
	if bytes > 0 && last.duration > 0 {
		s.timed.add(last.duration)
		s.moved.add(bytes)
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

func (s *collectiveSum) addStraggler(device int32, caused wide) {
	sum := s.stragglers[device]
	if sum == nil {
		sum = new(stragglerSum)
		s.stragglers[device] = sum
	}
	sum.count++
	sum.caused.merge(caused)
}

// row returns the sums; devices has the keys of the devices by number.
func (s *collectiveSum) row(devices []DeviceKey) CollectiveRow {
	row := CollectiveRow{
		Name: s.name, Group: s.group, Count: s.count, Inferred: s.inferred, Single: s.single,
		TransferNS: s.transfer.int64(), WaitNS: s.wait.int64(),
		Stragglers: []Straggler{},
	}
	if s.skew.Known {
		row.MaxStartSkewNS = &s.skew.V
	}
	if seconds := s.timed.float64() / 1e9; seconds > 0 {
		algorithm, bus := s.moved.float64()/seconds, s.carried/seconds
		row.AlgorithmBytesPerSecond = &algorithm
		if !s.noFactor {
			row.BusBytesPerSecond = &bus
		}
	}
	for device, sum := range s.stragglers {
		row.Stragglers = append(row.Stragglers, Straggler{DeviceKey: devices[device], Count: sum.count, CausedWaitNS: sum.caused.int64()})
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
