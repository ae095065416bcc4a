package clickhouse

import (
	"context"
	"fmt"

	"github.com/optrace/optrace/analyze/device"
)

// deviceColumns identify a device. The service and the host only matter without a rank.
var deviceColumns = []string{
	"rank", "device_id", "if(device_id IS NULL OR rank IS NOT NULL, '', service)",
	"if(device_id IS NULL OR rank IS NOT NULL, '', host)",
}

// onDevice selects the entries in the sums of devices.
const onDevice = "side = ''"

type deviceReader struct {
	rank          *int64
	id            *string
	service, host string
}

func (d *deviceReader) key() device.Key {
	k := device.Key{Rank: known(d.rank), DeviceID: device.Unknown}
	if d.id != nil {
		k.DeviceID = *d.id
		k.Named = *d.id == device.Unknown
		k.Service = d.service
		k.Host = d.host
	}
	return k
}

func (s *selection) addDevices(ctx context.Context, d *documents) error {
	var r reader
	var key deviceReader
	for i, place := range []any{&key.rank, &key.id, &key.service, &key.host} {
		r.add(deviceColumns[i], place)
	}
	member[uint64](&r, "count", "count()")
	r.sum("sum_ns", sumOf(limbsOf("duration_ns"), ""))
	r.memory()
	return r.grouped(ctx, s, onDevice, deviceColumns, "devices", func(l line) error {
		k := key.key()
		l["rank"] = k.Rank
		l["device_id"] = k.DeviceID
		l["named"] = k.Named
		l["service"] = k.Service
		l["host"] = k.Host
		d.row("device", l)
		return nil
	})
}

func (r *reader) memory() {
	bytes := limbsOf("ifNull(memory_bytes, 0)")
	r.sum("memory_bytes", sumOf(bytes, ""))
	r.sum("copied_bytes", sumOf(bytes, "kind = 'memory'"))
	r.count("memory_count", "memory_bytes IS NOT NULL")
}

// totals returns the figures of the whole run. Entries with more memory than hotspotBytes are hotspots.
func (s *selection) totals(ctx context.Context, hotspotBytes int64) (line, error) {
	var r reader
	collective := onDevice + " AND kind = 'collective' AND kind_rule"
	r.count("weighted", "adjusted_count > 0")
	member[int64](&r, "peak_memory_bytes", "maxIf(ifNull(memory_bytes, 0), "+onDevice+")")
	member[*int64](&r, "first_start_unix_ns", "minIf(start_unix_ns, "+onDevice+")")
	member[*int64](&r, "last_end_unix_ns", "maxIf(start_unix_ns + duration_ns, "+onDevice+")")
	r.count("hotspot_count", fmt.Sprintf("%s AND ifNull(memory_bytes, 0) > %d", onDevice, hotspotBytes))
	r.object("communication_rules", "1", func() {
		r.count("library", collective+" = 'library'")
		r.count("name", collective+" = 'name'")
		r.count("attribute", collective+" NOT IN ('library', 'name')")
	})
	var totals line
	if err := r.each(ctx, s, "", "", func(l line) error { totals = l; return nil }); err != nil {
		return nil, err
	}
	copies, err := s.copies(ctx)
	totals["copies"] = copies
	return totals, err
}

// direction is the direction of a copy, from its name; "" if unknown.
const direction = "multiIf(" +
	"positionCaseInsensitive(operation, 'HtoD') > 0, 'HtoD', positionCaseInsensitive(operation, 'DtoH') > 0, 'DtoH', " +
	"positionCaseInsensitive(operation, 'DtoD') > 0, 'DtoD', " +
	"positionCaseInsensitive(operation, 'PtoP') > 0, 'PtoP', '')"

func (s *selection) copies(ctx context.Context) (list []line, err error) {
	var r reader
	duration := limbsOf("duration_ns")
	memory := limbsOf("ifNull(memory_bytes, 0)")
	timed := "memory_bytes IS NOT NULL AND duration_ns > 0"
	member[string](&r, "direction", direction)
	member[uint64](&r, "count", "count()")
	r.sum("sum_ns", sumOf(duration, ""))
	r.memory()
	r.sum("timed_ns", sumOf(duration, timed))
	r.sum("timed_bytes", sumOf(memory, timed))
	err = r.each(ctx, s, onDevice+" AND kind = 'memory'", "GROUP BY "+direction, func(l line) error {
		if l["direction"] != "" {
			list = append(list, l)
		}
		return nil
	})
	return list, err
}
