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

// Row sums up the collectives of one name and group across their devices.
//
// A collective ends for all devices at about the same time: the last device to arrive spends the least time in it. This
// least time counts as the transfer, the additional time of the others as waiting.
//
//	rank 0   |--------------------|   [0,100)    waits 60
//	rank 1               |--------|   [60,100)   waits 0: the straggler
//
//	transfer 40, wait 60, start skew 60
type Row struct {
	// Name is the collective, such as "all_reduce", or the operation name if the collective is unknown.
	Name  string `json:"name"`
	Group string `json:"group"`
	// Count is the number of collectives. Inferred counts collectives matched by their order on each device, for lack
	// of a sequence number. Single counts collectives seen on one device, left out below. Repeats counts collectives
	// with an earlier sequence number, as after a restart.
	Count    int64 `json:"count"`
	Inferred int64 `json:"inferred"`
	Single   int64 `json:"single"`
	Repeats  int64 `json:"repeats"`
	// TransferNS is the sum of the transfers, WaitNS of all waiting, unknown if all collectives are Single.
	TransferNS op.Int `json:"transfer_ns"`
	WaitNS     op.Int `json:"wait_ns"`
	// MaxStartSkewNS is the longest time between two starts of one collective, nil if no starts are known.
	MaxStartSkewNS op.Int `json:"max_start_skew_ns"`
	// AlgorithmBytesPerSecond is size by transfer time, BusBytesPerSecond the resulting traffic of the links among all
	// ranks of the group. Both are unknown if the sizes are.
	AlgorithmBytesPerSecond op.Float `json:"algorithm_bytes_per_second"`
	BusBytesPerSecond       op.Float `json:"bus_bytes_per_second"`
	// Stragglers has a row per device with the least wait, the most frequent first.
	Stragglers []Straggler `json:"stragglers"`
	// Waits has a row per device, the longest wait first. They add up to WaitNS.
	Waits []Wait `json:"waits"`
}

// Straggler is a device with others waiting for it.
type Straggler struct {
	device.Key
	// Count is the number of collectives, CausedWaitNS the waiting time of all others together.
	Count        int64 `json:"count"`
	CausedWaitNS int64 `json:"caused_wait_ns"`
}

// Wait is the waiting time of a device in collectives with others.
type Wait struct {
	device.Key
	// Count is the number of these collectives.
	Count  int64 `json:"count"`
	WaitNS int64 `json:"wait_ns"`
}

// Rows returns the collectives across devices, the largest sum of transfers first.
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

// collectiveSum sums up the collectives of one name and group. Its row has the counts and the skew so far.
type collectiveSum struct {
	Row
	joins          *Joins
	transfer, wait wide.Sum
	// timed is the transfer time of collectives of known size, moved their size and carried the traffic of the links.
	timed, moved wide.Sum
	carried      float64
	noFactor     bool
	plain        string                      // the name for busFactor
	devices      map[int32]*collectiveDevice // by place
}

type collectiveDevice struct {
	count  int64
	waited wide.Sum
	// last counts the collectives with the least wait of the device, caused sums up the others' waits in them.
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
	bytes := int64(0)
	ranks := len(parts)
	first := parts[0].Start
	latest := first
	started := true
	for i := range parts {
		p := &parts[i]
		ranks = max(ranks, int(p.Ranks))
		device := order.At(s.devices, p.Device)
		waited := s.joins.duration(p) - transfer
		device.count++
		device.waited.Add(waited)
		wait.Add(waited)
		first = min(first, p.Start)
		latest = max(latest, p.Start)
		started = started && p.Started
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

func (s *collectiveSum) row() Row {
	row := s.Row
	if row.Count > row.Single {
		row.TransferNS = op.Known(s.transfer.Int64())
		row.WaitNS = op.Known(s.wait.Int64())
	}
	if seconds := s.timed.Float64() / 1e9; seconds > 0 {
		row.AlgorithmBytesPerSecond = op.KnownFloat(s.moved.Float64() / seconds)
		if !s.noFactor {
			row.BusBytesPerSecond = op.KnownFloat(s.carried / seconds)
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

// busFactor returns the bytes carried by the links per byte of a collective among n ranks with the best algorithm. ok
// is false for an unknown collective. The name is in lower case, without dashes.
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
