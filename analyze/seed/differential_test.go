package seed

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/internal/random"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/seed"
)

// The functions of this type are the seed's analyses in their plainest form,
// in float microseconds and with one pass per question, as the seed has them.
type naiveSeed struct{ trace *seed.Trace }

func (n naiveSeed) us(e op.Entry) float64 { return float64(e.Duration) / 1000 }

func (n naiveSeed) operationSummary() map[string]OpSummary {
	m := map[string]OpSummary{}
	for _, e := range n.trace.Entries {
		s := m[e.Operation]
		s.Count++
		s.TotalDurationUS += n.us(e)
		s.TotalMemoryBytes += e.MemoryBytes.V
		m[e.Operation] = s
	}
	return m
}

func (n naiveSeed) avgDuration() map[string]float64 {
	m := map[string]float64{}
	for name, s := range n.operationSummary() {
		m[name] = s.TotalDurationUS / float64(s.Count)
	}
	return m
}

func (n naiveSeed) perDevice() map[string]DeviceSummary {
	m := map[string]DeviceSummary{}
	for _, e := range n.trace.Entries {
		if !e.HasDevice() {
			continue
		}
		s := m[e.DeviceID]
		s.OpCount++
		s.TotalDurationUS += n.us(e)
		s.TotalMemoryBytes += e.MemoryBytes.V
		m[e.DeviceID] = s
	}
	return m
}

func (n naiveSeed) loadBalance() *Balance {
	devices := n.perDevice()
	if len(devices) < 2 {
		return nil
	}
	m := &Balance{DeviceCount: len(devices)}
	for device, s := range devices {
		m.PerDeviceDurationUS = append(m.PerDeviceDurationUS, DeviceDuration{device, s.TotalDurationUS})
		m.TotalDurationUS += s.TotalDurationUS
		m.MaxDurationUS = math.Max(m.MaxDurationUS, s.TotalDurationUS)
	}
	slices.SortFunc(m.PerDeviceDurationUS, func(a, b DeviceDuration) int { return strings.Compare(a.Device, b.Device) })
	m.IdealDurationUS = m.TotalDurationUS / float64(len(devices))
	if m.IdealDurationUS > 0 {
		m.ImbalanceRatio = math.Max(0, (m.MaxDurationUS-m.IdealDurationUS)/m.IdealDurationUS)
	}
	return m
}

func (n naiveSeed) bottlenecks(minRatio float64) []Bottleneck {
	total := math.Max(1e-9, n.trace.TotalDurationUS())
	result := []Bottleneck{}
	for name, s := range n.operationSummary() {
		lower := strings.ToLower(name)
		for _, word := range []string{"allreduce", "all_gather", "reduce_scatter", "broadcast", "send", "recv", "comm"} {
			if strings.Contains(lower, word) {
				if ratio := s.TotalDurationUS / total; ratio >= minRatio {
					result = append(result, Bottleneck{name, s.TotalDurationUS, ratio, s.Count})
				}
				break
			}
		}
	}
	slices.SortFunc(result, func(a, b Bottleneck) int {
		switch {
		case a.TotalDurationUS > b.TotalDurationUS:
			return -1
		case a.TotalDurationUS < b.TotalDurationUS:
			return 1
		}
		return strings.Compare(a.Operation, b.Operation)
	})
	return result
}

func (n naiveSeed) collapsed() string {
	weights := map[string]uint64{}
	for _, e := range n.trace.Entries {
		device := e.DeviceID
		if !e.HasDevice() {
			device = "unknown"
		}
		weights["trace;"+device+";"+e.Operation] += uint64(math.Round(math.Max(n.us(e), 1)))
	}
	var lines []string
	for stack, weight := range weights {
		lines = append(lines, stack+" "+strconv.FormatUint(weight, 10))
	}
	slices.SortFunc(lines, func(a, b string) int {
		return strings.Compare(a[:strings.LastIndexByte(a, ' ')], b[:strings.LastIndexByte(b, ' ')])
	})
	return strings.Join(lines, "\n")
}

// Sums of floats depend on their order; ours are of integers.
var rounding = cmpopts.EquateApprox(1e-12, 1e-9)

func TestSeedDifferential(t *testing.T) {
	cases.Seeds(t, 60, func(seed uint64, r *rand.Rand) {
		trace := random.Trace(r, r.IntN(200))
		for i := range trace.Entries { // devices that look like none
			switch e := &trace.Entries[i]; r.IntN(6) {
			case 0:
				e.DeviceID, e.EmptyDevice = "", true
			case 1:
				e.DeviceID = "unknown"
			}
		}
		if r.IntN(2) == 0 {
			trace.TotalDuration = r.Int64N(1e9) // as a file may state it
		}
		naive := naiveSeed{trace}
		check := func(name string, want, got any) {
			t.Helper()
			if diff := cmp.Diff(want, got, rounding); diff != "" {
				t.Errorf("seed %d: %s: %s", seed, name, diff)
			}
		}
		check("OperationSummary", naive.operationSummary(), OperationSummary(trace))
		check("AvgDurationByOp", naive.avgDuration(), AvgDurationByOp(trace))
		check("PerDeviceSummary", naive.perDevice(), PerDeviceSummary(trace))
		check("LoadBalance", naive.loadBalance(), LoadBalance(trace))
		check("CommunicationBottlenecks", naive.bottlenecks(0.1), CommunicationBottlenecks(trace, 0.1))
		check("FlamegraphCollapsed", naive.collapsed(), FlamegraphCollapsed(trace))
	})
}
