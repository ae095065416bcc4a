package clickhouse

import (
	"context"
	"fmt"
	"math/big"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/op"
)

// deviceSums are the sums over the entries of a device.
type deviceSums struct {
	device.Key
	Count       int64    `json:"count"`
	SumNS       *big.Int `json:"sum_ns"`
	MemoryBytes *big.Int `json:"memory_bytes"`
}

// The columns that tell devices apart: the service and the host where no rank is stated.
var deviceColumns = []string{
	"rank", "device_id", "if(device_id IS NULL OR rank IS NOT NULL, '', service)", "if(device_id IS NULL OR rank IS NOT NULL, '', host)",
}

// onDevice holds for entries that take part in the sums of devices.
const onDevice = "side = ''"

// deviceReader reads the columns of a device.
type deviceReader struct {
	rank          *int64
	id            *string
	service, host string
}

// add adds the columns to a row.
func (d *deviceReader) add(r *reader) {
	for i, place := range []any{&d.rank, &d.id, &d.service, &d.host} {
		r.add(deviceColumns[i], place)
	}
}

// key returns the device.
func (d *deviceReader) key() device.Key {
	k := device.Key{Rank: known(d.rank), DeviceID: device.Unknown}
	if d.id != nil {
		k.DeviceID, k.Named, k.Service, k.Host = *d.id, *d.id == device.Unknown, d.service, d.host
	}
	return k
}

// devices returns the sums by device.
func (s *selection) devices(ctx context.Context) ([]*deviceSums, error) {
	var list []*deviceSums
	var r reader
	var d deviceReader
	var row deviceSums
	d.add(&r)
	r.addCount("count()", &row.Count)
	r.addSum(sumOf(limbsOf("duration_ns"), ""), &row.SumNS)
	r.addSum(sumOf(limbsOf("ifNull(memory_bytes, 0)"), ""), &row.MemoryBytes)
	group := "GROUP BY " + names(deviceColumns) + fmt.Sprintf(" LIMIT %d", maxRows+1)
	err := s.entries(ctx, r.columns, onDevice, group, func(scan func(...any) error) error {
		if err := r.scan(scan); err != nil {
			return err
		}
		own := row
		own.Key = d.key()
		list = append(list, &own)
		return nil
	})
	if err == nil && len(list) > maxRows {
		err = fmt.Errorf("there are more than %d devices", maxRows)
	}
	return list, err
}

// totals are the figures that are no sums over operations.
type totals struct {
	Weighted        int64                      `json:"weighted,omitempty"`
	PeakMemoryBytes int64                      `json:"peak_memory_bytes"`
	First           op.Int                     `json:"first_start_unix_ns"`
	Last            op.Int                     `json:"last_end_unix_ns"`
	StatedMore      int64                      `json:"stated_more_ns,omitempty"`
	States          bool                       `json:"states_total,omitempty"`
	Rules           profile.CommunicationRules `json:"communication_rules"`
	Copies          []*copies                  `json:"copies,omitempty"`
	Hotspots        int64                      `json:"hotspot_count"`
}

type copies struct {
	Direction   string   `json:"direction"`
	Count       int64    `json:"count"`
	SumNS       *big.Int `json:"sum_ns"`
	MemoryBytes *big.Int `json:"memory_bytes"`
	TimedNS     *big.Int `json:"timed_ns"`
	TimedBytes  *big.Int `json:"timed_bytes"`
}

// totals returns the totals, given the memory above which an entry is a hotspot.
func (s *selection) totals(ctx context.Context, hotspotBytes int64) (*totals, error) {
	t := new(totals)
	var r reader
	var first, last, starts int64
	start := "ifNull(start_unix_ns, 0)"
	started := onDevice + " AND start_unix_ns IS NOT NULL"
	collective := onDevice + " AND kind = 'collective' AND kind_rule"
	r.addCount("countIf(adjusted_count > 0)", &t.Weighted)
	r.add("maxIf(ifNull(memory_bytes, 0), "+onDevice+")", &t.PeakMemoryBytes)
	r.addCount("countIf("+started+")", &starts)
	r.add("minIf("+start+", "+started+")", &first)
	r.add("maxIf("+start+" + duration_ns, "+started+")", &last)
	r.addCount("countIf("+collective+" = 'library')", &t.Rules.Library)
	r.addCount("countIf("+collective+" = 'name')", &t.Rules.Name)
	r.addCount("countIf("+collective+" NOT IN ('library', 'name'))", &t.Rules.Attribute)
	r.addCount(fmt.Sprintf("countIf(%s AND ifNull(memory_bytes, 0) > %d)", onDevice, hotspotBytes), &t.Hotspots)
	err := s.entries(ctx, r.columns, "", "", r.scan)
	if err != nil {
		return nil, err
	}
	if starts > 0 {
		t.First, t.Last = op.Known(first), op.Known(last)
	}
	for _, in := range s.inputs {
		t.StatedMore += in.statedMore
		t.States = t.States || in.states
	}
	return t, s.addCopies(ctx, t)
}

// direction is the direction of a copy by its name, "" for none.
const direction = "multiIf(" +
	"positionCaseInsensitive(operation, 'HtoD') > 0, 'HtoD', positionCaseInsensitive(operation, 'DtoH') > 0, 'DtoH', " +
	"positionCaseInsensitive(operation, 'DtoD') > 0, 'DtoD', positionCaseInsensitive(operation, 'PtoP') > 0, 'PtoP', '')"

// addCopies adds the sums of copies by direction.
func (s *selection) addCopies(ctx context.Context, t *totals) error {
	var r reader
	var row copies
	duration, memory := limbsOf("duration_ns"), limbsOf("ifNull(memory_bytes, 0)")
	timed := "memory_bytes IS NOT NULL AND duration_ns > 0"
	r.add(direction, &row.Direction)
	r.addCount("count()", &row.Count)
	r.addSum(sumOf(duration, ""), &row.SumNS)
	r.addSum(sumOf(memory, ""), &row.MemoryBytes)
	r.addSum(sumOf(duration, timed), &row.TimedNS)
	r.addSum(sumOf(memory, timed), &row.TimedBytes)
	cond := onDevice + " AND kind = 'memory'"
	return s.entries(ctx, r.columns, cond, "GROUP BY "+direction, func(scan func(...any) error) error {
		if err := r.scan(scan); err != nil || row.Direction == "" {
			return err
		}
		own := row
		t.Copies = append(t.Copies, &own)
		return nil
	})
}
