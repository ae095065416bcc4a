package collective

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

// Row sums up the collectives of one name and group across the
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
type Row struct {
	// Name is the collective, such as "all_reduce", or the name of its
	// operations where nothing else is known.
	Name  string `json:"name"`
	Group string `json:"group"`
	// Count is how many collectives there were. Inferred of them were matched by
	// their place in the order of each device, because they carry no sequence
	// number. Single were seen on one device only: they take no part in the
	// figures below. Repeats have a sequence number that an earlier collective
	// had, as after a restart.
	Count    int64 `json:"count"`
	Inferred int64 `json:"inferred"`
	Single   int64 `json:"single"`
	Repeats  int64 `json:"repeats"`
	// TransferNS is the sum of the transfers, WaitNS the time that all devices together waited; unknown when all
	// collectives were seen on one device only.
	TransferNS op.Int `json:"transfer_ns"`
	WaitNS     op.Int `json:"wait_ns"`
	// MaxStartSkewNS is the longest time between two starts of the same collective; nil when no starts are known.
	MaxStartSkewNS op.Int `json:"max_start_skew_ns"`
	// AlgorithmBytesPerSecond is size by transfer, BusBytesPerSecond the traffic
	// of the links for it among all ranks of the group; unknown where the sizes are.
	AlgorithmBytesPerSecond op.Float `json:"algorithm_bytes_per_second"`
	BusBytesPerSecond       op.Float `json:"bus_bytes_per_second"`
	// Stragglers has a row per device that waited least, the most frequent first.
	Stragglers []Straggler `json:"stragglers"`
	// Waits has a row per device, the longest wait first. They add up to WaitNS.
	Waits []Wait `json:"waits"`
}

// Straggler is a device that others waited for.
type Straggler struct {
	device.Key
	// Count is for how many collectives, CausedWaitNS for how long all others
	// together.
	Count        int64 `json:"count"`
	CausedWaitNS int64 `json:"caused_wait_ns"`
}

// Wait is how long a device waited in collectives with others.
type Wait struct {
	device.Key
	// Count is the number of these collectives.
	Count  int64 `json:"count"`
	WaitNS int64 `json:"wait_ns"`
}

// Rows returns the collectives across devices, the largest sum of transfers first. The row counts those without a
// sequence number as inferred.
func (j *Joins) Rows() []Row {
	rows := []Row{}
	for of := range order.RunsOf(j.all, func(parts *[]Part) int32 { return (*parts)[0].Name }) {
		sum := newSum(j, of[0][0].Name)
		for _, parts := range of {
			sum.add(parts)
		}
		rows = append(rows, sum.row())
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.TransferNS.V, a.TransferNS.V) })
	return rows
}

// collectiveSum sums up the collectives of one name and group. The counts of its row and the skew are those so far.
type collectiveSum struct {
	Row
	joins          *Joins
	transfer, wait wide.Sum
	// timed and carried are of the collectives whose sizes are known.
	timed, moved wide.Sum
	carried      float64
	noFactor     bool
	plain        string                      // the name, as busFactor takes it
	devices      map[int32]*collectiveDevice // by place
}

// collectiveDevice sums up what one device did in collectives with others.
type collectiveDevice struct {
	count  int64
	waited wide.Sum
	// last is how often it waited least, caused how long the others waited then.
	last   int64
	caused wide.Sum
}

func newSum(j *Joins, name int32) *collectiveSum {
	of := j.forest.Names.Collectives.Values[name]
	return &collectiveSum{
		Row:   Row{Name: of.Name, Group: of.Group, Stragglers: []Straggler{}, Waits: []Wait{}},
		joins: j, devices: make(map[int32]*collectiveDevice),
		plain: strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(of.Name)),
	}
}

// add adds one collective, given its parts: one of each device that took part.
func (s *collectiveSum) add(parts []Part) {
	s.Count++
	switch {
	case parts[0].Inferred:
		s.Inferred++
	case parts[0].Occurrence > 0:
		s.Repeats++
	}
	if len(parts) == 1 {
		s.Single++
		return
	}
	last := &parts[0]
	for i := range parts {
		if s.joins.duration(&parts[i]) < s.joins.duration(last) {
			last = &parts[i]
		}
	}
	transfer := s.joins.duration(last)
	var wait wide.Sum
	bytes, ranks := int64(0), len(parts)
	first, latest, started := parts[0].Start, parts[0].Start, true
	for i := range parts {
		p := &parts[i]
		ranks = max(ranks, int(p.Ranks))
		device, waited := order.At(s.devices, p.Device), s.joins.duration(p)-transfer
		device.count++
		device.waited.Add(waited)
		wait.Add(waited)
		first, latest, started = min(first, p.Start), max(latest, p.Start), started && p.Started
		if p.Sized {
			bytes = max(bytes, p.Bytes)
		}
	}
	s.transfer.Add(transfer)
	s.wait.Merge(wait)
	if started {
		s.MaxStartSkewNS = op.Known(max(s.MaxStartSkewNS.V, latest-first))
	}
	if wait != (wide.Sum{}) {
		straggler := order.At(s.devices, last.Device)
		straggler.last++
		straggler.caused.Merge(wait)
	}
	if bytes > 0 && transfer > 0 {
		s.timed.Add(transfer)
		s.moved.Add(bytes)
		factor, ok := busFactor(s.plain, ranks)
		s.carried += float64(bytes) * factor
		s.noFactor = s.noFactor || !ok
	}
}

// row returns the sums.
func (s *collectiveSum) row() Row {
	row := s.Row
	if row.Count > row.Single {
		row.TransferNS, row.WaitNS = op.Known(s.transfer.Int64()), op.Known(s.wait.Int64())
	}
	if seconds := s.timed.Float64() / 1e9; seconds > 0 {
		algorithm, bus := s.moved.Float64()/seconds, s.carried/seconds
		row.AlgorithmBytesPerSecond = op.KnownFloat(algorithm)
		if !s.noFactor {
			row.BusBytesPerSecond = op.KnownFloat(bus)
		}
	}
	for place, d := range s.devices {
		key := s.joins.Key(place)
		row.Waits = append(row.Waits, Wait{Key: key, Count: d.count, WaitNS: d.waited.Int64()})
		if d.last > 0 {
			row.Stragglers = append(row.Stragglers, Straggler{Key: key, Count: d.last, CausedWaitNS: d.caused.Int64()})
		}
	}
	slices.SortFunc(row.Stragglers, func(a, b Straggler) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), a.Key.Compare(b.Key))
	})
	slices.SortFunc(row.Waits, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(b.WaitNS, a.WaitNS), a.Key.Compare(b.Key))
	})
	return row
}

// busFactor is how much the links carry per byte of a collective among n ranks with the best algorithm; ok is false for
// a collective that is not known. The name is in lower case, without dashes.
func busFactor(name string, n int) (factor float64, ok bool) {
	share := float64(n-1) / float64(n)
	for _, known := range []struct {
		word   string
		factor float64
	}{
		{"allreduce", 2 * share}, {"allgather", share}, {"reducescatter", share}, {"alltoall", share},
		{"broadcast", 1}, {"reduce", 1}, {"send", 1}, {"recv", 1},
	} {
		if strings.Contains(name, known.word) {
			return known.factor, true
		}
	}
	return 0, false
}
