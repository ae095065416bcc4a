package clickhouse

import (
	"context"
	"fmt"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/internal/opmodel"
	"github.com/optrace/optrace/op"
)

// The time of a device is divided on the shards: for each trace on it, since a trace is on one
// shard, its operations are put in the order of their starts and ends, and the lengths between
// these are added up by what runs. Where the traces of a device follow one another, the sums over
// them are the device's. Where they overlap, the device's operations are read in the order of
// their starts and added up here, up to a number of them.

type parts struct {
	timeline.Parts
	first, last int64
	most        int64 // operations of a trace
	overlapping bool  // traces
}

func (p *parts) set(d *profile.Device) {
	d.SpanNS, d.BusyNS, d.IdleNS = op.Known(p.last-p.first), op.Known(p.Busy), op.Known(p.last-p.first-p.Busy)
	d.ComputeNS, d.OtherNS = op.Known(p.Compute), op.Known(p.Other)
	d.ExposedCommunicationNS, d.ExposedMemoryNS = op.Known(p.ExposedCommunication), op.Known(p.ExposedMemory)
	d.CommunicationNS, d.MemoryNS, d.OverlapNS = op.Known(p.Communication), op.Known(p.Memory), op.Known(p.Overlap)
	if ratio, ok := p.OverlapRatio(); ok {
		d.OverlapRatio = op.KnownFloat(ratio)
	}
}

// lengths are the parts that are summed up: their names, and when time is theirs, where a, b, c and d operations of
// the classes run.
var lengths = []struct {
	name, cond string
	of         func(*timeline.Parts) *int64
}{
	{"compute", "a > 0", func(p *timeline.Parts) *int64 { return &p.Compute }},
	{"exposed", "b > 0 AND a = 0", func(p *timeline.Parts) *int64 { return &p.ExposedCommunication }},
	{"exposed_memory", "c > 0 AND a + b = 0", func(p *timeline.Parts) *int64 { return &p.ExposedMemory }},
	{"other", "d > 0 AND a + b + c = 0", func(p *timeline.Parts) *int64 { return &p.Other }},
	{"communication", "b > 0", func(p *timeline.Parts) *int64 { return &p.Communication }},
	{"memory", "c > 0", func(p *timeline.Parts) *int64 { return &p.Memory }},
	{"overlap", "a > 0 AND b > 0", func(p *timeline.Parts) *int64 { return &p.Overlap }},
	{"busy", "a + b + c + d > 0", func(p *timeline.Parts) *int64 { return &p.Busy }},
}

// timed holds for entries that take part in time lines. Starts and ends lie in years that
// can be.
const timed = onDevice + " AND start_unix_ns IS NOT NULL AND ifNull(start_unix_ns, 0) >= -4611686018427387903" +
	" AND ifNull(start_unix_ns, 0) <= 4611686018427387903 - duration_ns"

// classOf is what an entry does: 1 compute, 2 communication, 3 memory, 4 anything else.
const classOf = "multiIf(kind = 'compute', 1, kind = 'collective', 2, kind = 'memory', 3, 4)"

// sweep is the columns of the parts of one trace on a device. The events are starts and ends: the
// time, the class and 1 or -1. Beside each stand the time of the next one, and how many operations
// of each class run from it on.
func sweep(most int) []string {
	start := "assumeNotNull(start_unix_ns)"
	event := func(at, sign string) string {
		return fmt.Sprintf("groupArray(%d)(tuple(toInt64(%s), toInt64(%s), toInt64(%s)))", most, at, classOf, sign)
	}
	running := func(class int) string {
		return fmt.Sprintf("arrayCumSum(e -> if(e.2 = %d, e.3, 0), events) AS running%d", class, class)
	}
	columns := []string{
		"arraySort(arrayConcat(" + event(start, "1") + ", " + event(start+" + duration_ns", "-1") + ")) AS events",
		"arrayPushBack(arrayMap(e -> e.1, arrayPopFront(events)), events[-1].1) AS next",
		running(1), running(2), running(3), running(4),
		"count() AS operations", "events[1].1 AS first", "events[-1].1 AS last",
	}
	for _, l := range lengths {
		columns = append(columns, "arraySum(arrayMap((e, n, a, b, c, d) -> if("+l.cond+", n - e.1, 0), "+
			"events, next, running1, running2, running3, running4)) AS "+l.name)
	}
	return columns
}

// deviceNames returns the columns that tell the devices of a report apart. Services and hosts are
// among them for the names that several of them have, as the report says.
func deviceNames(devices []profile.Device) []string {
	of := func(column string, has func(*profile.Device) bool) string {
		list := []string{quote("")}
		for i := range devices {
			if d := &devices[i]; has(d) {
				list = append(list, quote(d.DeviceID))
			}
		}
		if len(list) == 1 {
			return "substring(" + column + ", 1, 0)"
		}
		if !has(&profile.Device{}) {
			list = list[1:]
		}
		return fmt.Sprintf("if(rank IS NULL AND device_id IS NOT NULL AND ifNull(device_id, '') IN (%s), %s, '')",
			strings.Join(list, ", "), column)
	}
	return []string{
		"rank", "device_id",
		of("service", func(d *profile.Device) bool { return d.Service != "" }),
		of("host", func(d *profile.Device) bool { return d.Host != "" }),
	}
}

// timelines returns the parts of the devices of a report. A device of which nothing has a start
// has none, and neither has one of which more would have to be read than that.
func (s *selection) timelines(ctx context.Context, devices []profile.Device, limit int64) (map[device.Key]*parts, error) {
	columns := deviceNames(devices)
	lines, err := s.sweepTraces(ctx, columns)
	if err != nil {
		return nil, err
	}
	for key, p := range lines {
		if !p.overlapping && p.most <= maxSweep {
			continue
		}
		delete(lines, key)
		d := deviceCondition(columns, key)
		n, err := s.countEntries(ctx, timed+" AND "+d)
		if err != nil {
			return nil, err
		}
		if n > limit {
			continue
		}
		if lines[key], err = s.sweepDevice(ctx, d); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// maxSweep bounds the operations of a trace on a device that are put in order in memory, on a
// shard.
const maxSweep = 2_000_000

// sweepTraces returns the parts of each device, summed up over its traces.
func (s *selection) sweepTraces(ctx context.Context, columns []string) (map[device.Key]*parts, error) {
	var inner []string
	for i, c := range columns {
		inner = append(inner, fmt.Sprintf("%s AS k%d", c, i))
	}
	group := append([]string{"trace_id"}, columns...)
	from := fmt.Sprintf("SELECT %s FROM %s WHERE %s GROUP BY %s", names(append(inner, sweep(maxSweep)...)), s.table,
		s.where(recordEntry, timed), names(group))
	const extents = "arraySort(groupArray(tuple(first, last)))"
	var r reader
	var p parts
	var d deviceReader
	var most uint64
	var overlapping uint8
	d.add(&r, []string{"k0", "k1", "k2", "k3"})
	r.add("min(first)", &p.first)
	r.add("max(last)", &p.last)
	for _, l := range lengths {
		r.add("sum("+l.name+")", l.of(&p.Parts))
	}
	r.add("max(operations)", &most)
	r.add("arrayExists((a, b) -> b.1 < a.2, arrayPopBack("+extents+"), arrayPopFront("+extents+"))", &overlapping)
	query := fmt.Sprintf("SELECT %s FROM (%s) GROUP BY k0, k1, k2, k3", names(r.columns), from)
	if s.table == tableOps {
		query += " SETTINGS distributed_group_by_no_merge = 1" // a trace is on one shard
	}
	lines := make(map[device.Key]*parts)
	err := s.db.Query(ctx, query, func(scan func(...any) error) error {
		err := scan(r.places...)
		own := p
		own.most, own.overlapping = int64(most), overlapping != 0
		lines[d.key()] = &own
		return err
	})
	return lines, err
}

// deviceCondition returns a condition that holds for the entries of a device.
func deviceCondition(columns []string, k device.Key) string {
	rank, id := "rank IS NULL", "device_id IS NULL"
	if k.Rank.Known {
		rank = fmt.Sprintf("rank = %d", k.Rank.V)
	}
	if !k.IsNone() {
		id = "device_id = " + quote(k.DeviceID)
	}
	return fmt.Sprintf("%s AND %s AND %s = %s AND %s = %s", rank, id, columns[2], quote(k.Service), columns[3], quote(k.Host))
}

// sweepDevice returns the parts of a device, whose entries it reads.
func (s *selection) sweepDevice(ctx context.Context, device string) (*parts, error) {
	var w sweeper
	columns := []string{"assumeNotNull(start_unix_ns) AS at", "duration_ns", "toUInt8(" + classOf + ")"}
	err := s.entries(ctx, columns, timed+" AND "+device, "ORDER BY at", func(scan func(...any) error) error {
		var start, duration int64
		var class uint8
		err := scan(&start, &duration, &class)
		w.add(start, duration, class)
		return err
	})
	return w.end(), err
}

// sweeper adds up the time of a device from its operations by start. The zero value is ready.
type sweeper struct {
	parts parts
	any   bool
	at    int64    // start of the operations that were added last
	until [5]int64 // when the last operation of each class ends
}

// add adds an operation that starts when those before start, or later.
func (w *sweeper) add(start, duration int64, class uint8) {
	if !w.any {
		w.any = true
		w.parts.first, w.parts.last, w.at = start, start, start
		for i := range w.until {
			w.until[i] = start
		}
	}
	w.advance(start)
	w.until[class] = max(w.until[class], start+duration)
	w.parts.last = max(w.parts.last, start+duration)
}

// advance adds the time up to the next start.
func (w *sweeper) advance(to int64) {
	active := func(class int) int64 { return max(0, min(w.until[class], to)-w.at) }
	compute, communication, memory, other := active(1), active(2), active(3), active(4)
	p := &w.parts
	p.Compute += compute
	p.Communication += communication
	p.Memory += memory
	p.Overlap += min(compute, communication)
	p.ExposedCommunication += max(0, communication-compute)
	settled := max(compute, communication)
	p.ExposedMemory += max(0, memory-settled)
	settled = max(settled, memory)
	p.Other += max(0, other-settled)
	p.Busy += max(settled, other)
	w.at = to
}

func (w *sweeper) end() *parts {
	w.advance(w.parts.last)
	return &w.parts
}

func (s *selection) addTimelines(ctx context.Context, r *analyze.Report, limit int64) error {
	lines, err := s.timelines(ctx, r.Devices, limit)
	if err != nil {
		return fmt.Errorf("asking ClickHouse: %w", err)
	}
	devices, known, longest, sum := 0, 0, int64(0), int64(0)
	for i := range r.Devices {
		d := &r.Devices[i]
		p := lines[d.Key()]
		if p != nil {
			p.set(d)
		}
		if d.Key().IsNone() {
			continue
		}
		if devices++; p != nil {
			known++
			longest, sum = max(longest, p.Busy), opmodel.AddSaturating(sum, p.Busy)
		}
	}
	if r.LoadBalance != nil && known == devices && devices > 1 {
		r.LoadBalance.BusyImbalanceRatio = op.KnownFloat(seed.Imbalance(float64(longest), float64(sum)/float64(devices)))
	}
	return nil
}
