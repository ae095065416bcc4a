package clickhouse

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/timeline"
)

// The shards divide the time of devices. Each shard has whole traces. For each trace on a device it sorts
// the starts and ends of operations and adds up the times between them by the classes of the running
// operations. If the traces of a device do not overlap, the sum over the traces is the device's time.
// Otherwise one server sorts all operations of the device, up to a limit.

// swept has the parts of a device's time.
type swept struct {
	timeline.Parts
	first, last      int64
	operations, most uint64 // of the device, and of its largest trace
	overlapping      uint8  // 1 if traces overlap
}

// lengths are the parts to add up. A part counts time with cond; a, b, c and d are the numbers of running
// operations by class.
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

// timed selects the entries of timelines. It excludes impossible years.
const timed = onDevice + " AND start_unix_ns IS NOT NULL AND ifNull(start_unix_ns, 0) >= -4611686018427387903" +
	" AND ifNull(start_unix_ns, 0) <= 4611686018427387903 - duration_ns"

// classOf is the class of an entry: 1 compute, 2 communication, 3 memory, 4 other.
const classOf = "multiIf(kind = 'compute', 1, kind = 'collective', 2, kind = 'memory', 3, 4)"

// sweepColumns returns the columns of the parts, for up to most operations sorted together. Events are
// starts and ends: the time, the class, and 1 or -1. Each event has the time of the next one and the
// numbers of operations running after it.
func sweepColumns(most int) []string {
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

// deviceNames returns the columns that identify the devices of a report. Services and hosts matter for the
// ambiguous names, which the report lists.
func deviceNames(devices []profile.Device) []string {
	of := func(column string, has func(*profile.Device) bool) string {
		list := []string{""}
		for i := range devices {
			if d := &devices[i]; has(d) {
				list = append(list, d.DeviceID)
			}
		}
		if len(list) == 1 {
			return "substring(" + column + ", 1, 0)"
		}
		if !has(&profile.Device{}) {
			list = list[1:]
		}
		return fmt.Sprintf("if(rank IS NULL AND device_id IS NOT NULL AND ifNull(device_id, '') IN (%s), %s, '')",
			quoted(list), column)
	}
	return []string{
		"rank", "device_id",
		of("service", func(d *profile.Device) bool { return d.Service != "" }),
		of("host", func(d *profile.Device) bool { return d.Host != "" }),
	}
}

// maxSweep limits the operations of a trace on a device that a shard sorts in memory.
const maxSweep = 2_000_000

// addTimelines adds the parts of their time to the devices of a report. Devices without a start or with
// more than limit operations to sort get none.
func (s *selection) addTimelines(ctx context.Context, r *analyze.Report, limit int) error {
	columns := deviceNames(r.Devices)
	found, err := s.sweep(ctx, columns, timed, true, maxSweep)
	if err != nil {
		return err
	}
	// Small devices are sorted together.
	var together []string
	var n uint64
	sweep := func() error {
		if len(together) == 0 {
			return nil
		}
		again, err := s.sweep(ctx, columns, timed+" AND ("+strings.Join(together, " OR ")+")", false, limit)
		maps.Copy(found, again)
		together = nil
		n = 0
		return err
	}
	for key, p := range maps.Clone(found) {
		if p.overlapping == 0 && p.most <= maxSweep {
			continue
		}
		delete(found, key)
		if p.operations > uint64(limit) {
			continue
		}
		if n += p.operations; n > uint64(limit) {
			if err := sweep(); err != nil {
				return err
			}
			n = p.operations
		}
		together = append(together, deviceCondition(columns, key))
	}
	if err := sweep(); err != nil {
		return err
	}
	var lines []timeline.Timeline
	for i := range r.Devices {
		line := timeline.Timeline{Key: r.Devices[i].Key()}
		if p := found[line.Key]; p != nil {
			p.Span = p.last - p.first
			p.Idle = p.Span - p.Busy
			line.Parts = &p.Parts
		}
		lines = append(lines, line)
	}
	r.AddTimelines(lines)
	return nil
}

// sweep returns the parts of each device, of the entries with cond: summed up over its traces or sorted at
// once, up to most entries.
func (s *selection) sweep(ctx context.Context, columns []string, cond string, byTrace bool,
	most int) (map[device.Key]*swept, error) {
	var inner []string
	for i, c := range columns {
		inner = append(inner, fmt.Sprintf("%s AS k%d", c, i))
	}
	group := columns
	if byTrace {
		group = append([]string{"trace_id"}, columns...)
	}
	from := fmt.Sprintf("SELECT %s FROM %s WHERE %s GROUP BY %s", names(append(inner, sweepColumns(most)...)), s.table,
		s.where(recordEntry, cond), names(group))
	const extents = "arraySort(groupArray(tuple(first, last)))"
	var r reader
	var p swept
	var d deviceReader
	d.add(&r, []string{"k0", "k1", "k2", "k3"})
	r.add("min(first)", &p.first)
	r.add("max(last)", &p.last)
	for _, l := range lengths {
		r.add("sum("+l.name+")", l.of(&p.Parts))
	}
	r.add("sum(operations)", &p.operations)
	r.add("max(operations)", &p.most)
	r.add("arrayExists((a, b) -> b.1 < a.2, arrayPopBack("+extents+"), arrayPopFront("+extents+"))", &p.overlapping)
	from = "(" + from + ") GROUP BY k0, k1, k2, k3"
	if byTrace && s.table == tableOps {
		from += " SETTINGS distributed_group_by_no_merge = 1" // a shard has whole traces
	}
	found := make(map[device.Key]*swept)
	err := ask(ctx, s.db, r.places, from, func() error {
		found[d.key()] = new(p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("asking ClickHouse: %w", err)
	}
	return found, nil
}

// deviceCondition returns a condition that selects the entries of a device.
func deviceCondition(columns []string, k device.Key) string {
	rank := "rank IS NULL"
	id := "device_id IS NULL"
	if k.Rank.Known {
		rank = fmt.Sprintf("rank = %d", k.Rank.V)
	}
	if !k.IsNone() {
		id = "device_id = " + quote(k.DeviceID)
	}
	return fmt.Sprintf("(%s AND %s AND %s = %s AND %s = %s)", rank, id, columns[2], quote(k.Service), columns[3],
		quote(k.Host))
}
