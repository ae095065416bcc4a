package analyze

// MaxBuckets bounds the time axis of [Trace.Utilisation] and [Trace.MemoryUse].
const MaxBuckets = 100_000

// TimeAxis divides the time from the first start to the last end of all
// devices into buckets of equal width. The last one may reach beyond the end.
type TimeAxis struct {
	// Start is in Unix nanoseconds, Width in nanoseconds.
	Start int64 `json:"start_unix_ns"`
	Width int64 `json:"bucket_ns"`
	// Buckets is how many there are; 0 when nothing has a start.
	Buckets int `json:"buckets"`
}

// bucket returns the bucket that holds the moment at.
func (a *TimeAxis) bucket(at int64) int { return int((at - a.Start) / a.Width) }

// spread calls add with the part of [from, to) that lies in each bucket.
func (a *TimeAxis) spread(from, to int64, add func(bucket int, length int64)) {
	for from < to {
		b := a.bucket(from)
		end := min(to, a.Start+int64(b+1)*a.Width)
		add(b, end-from)
		from = end
	}
}

// Utilisation tells for how much of each bucket each device was busy.
type Utilisation struct {
	TimeAxis
	// Devices has a row per device with starts, by rank and name.
	Devices []DeviceUtilisation `json:"devices"`
}

// DeviceUtilisation is how one device was used over time.
type DeviceUtilisation struct {
	DeviceKey
	// Busy is the time in each bucket in which anything ran, in nanoseconds; it
	// adds up to the device's busy time.
	Busy []int64 `json:"busy_ns"`
}

// Utilisation returns the use of each device over time, in the given number of
// buckets or as many as there are nanoseconds, between 1 and [MaxBuckets].
func (t *Trace) Utilisation(buckets int) *Utilisation {
	t.Build()
	u := &Utilisation{TimeAxis: t.timeAxis(buckets), Devices: []DeviceUtilisation{}}
	if u.Buckets == 0 {
		return u
	}
	for _, device := range t.onDevice.order {
		rows := t.onDevice.of(device)
		if len(rows) == 0 {
			continue
		}
		use := DeviceUtilisation{DeviceKey: t.dict.devices.values[device], Busy: make([]int64, u.Buckets)}
		for s := range t.sweep(rows) {
			u.spread(s.from, s.from+s.busy, func(b int, length int64) { use.Busy[b] += length })
		}
		u.Devices = append(u.Devices, use)
	}
	return u
}

// timeAxis divides the time of all devices.
func (t *Trace) timeAxis(buckets int) TimeAxis {
	var first, last int64
	found := false
	for _, r := range t.onDevice.rows {
		if !found {
			first, last, found = t.start(r), t.end(r), true
		}
		first, last = min(first, t.start(r)), max(last, t.end(r))
	}
	if !found {
		return TimeAxis{}
	}
	length := max(1, last-first)
	wanted := int64(max(1, min(buckets, MaxBuckets)))
	width := length / wanted
	if width*wanted < length {
		width++
	}
	return TimeAxis{Start: first, Width: width, Buckets: int((length-1)/width) + 1}
}
