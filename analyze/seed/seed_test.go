package seed

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/fulldisk"
	"github.com/optrace/optrace/op"
)

func TestFiguresHaveTheReferenceJSON(t *testing.T) {
	balance := NewBalance([]Sum{{"gpu:1", 1, 100_000}, {"gpu:0", 1, 300_000}})
	for _, tc := range []struct {
		got  any
		want string
	}{
		{
			Bottlenecks([]Sum{{"send", 1, 100_000}}, 400_000, 0),
			`[{"operation":"send","total_duration_us":100,"ratio_of_total":0.25,"call_count":1}]`,
		},
		{balance, `{"device_count":2,"total_duration_us":400,"ideal_duration_us":200,` +
			`"max_duration_us":300,"imbalance_ratio":0.5,"per_device_duration_us":[["gpu:0",300],["gpu:1",100]]}`},
	} {
		got := check.Must(json.Marshal(tc.got))(t)
		check.Equal(t, "", tc.want, string(got))
	}
	check.Equal(t, "one device", nil, NewBalance([]Sum{{"gpu:0", 1, 300_000}}))
	text := check.Must(json.Marshal(balance))(t)
	var got *Balance
	check.OK(t, json.Unmarshal(text, &got))
	check.Equal(t, "", balance, got)
	for _, bad := range []string{`"gpu:0"`, `[1,2]`, `["gpu:0"]`, `["a",1,2]`} {
		check.Says(t, fmt.Sprintf("%s reads without an error", bad), "",
			json.Unmarshal([]byte(bad), new(DeviceDuration)))
	}
}

func text(t *testing.T, s *Stacks) string {
	t.Helper()
	var b bytes.Buffer
	check.OK(t, s.Write(&b))
	return b.String()
}

func TestStacksWriteError(t *testing.T) {
	var s Stacks
	s.Add(&op.Entry{Operation: "matmul", Duration: 1000})
	check.Is(t, "Write", fulldisk.Err, s.Write(&fulldisk.Writer{}))
}

// Whatever the names are, each line is three frames and a weight.
func FuzzStacksWrite(f *testing.F) {
	for _, name := range []string{"", "a", "a;b", "a b", "line\nbreak", "tab\t", "\x00\x1b[31m", "\xff\xfe", "\u2028",
		"x 5", "trace;5 5"} {
		f.Add(name, "cuda:0")
		f.Add("matmul", name)
	}
	f.Fuzz(func(t *testing.T, name, device string) {
		var s Stacks
		s.Add(&op.Entry{Operation: name, DeviceID: device, Duration: 7000})
		want := "trace;" + stacks.Collapse(cmp.Or(device, unknownDevice)) + ";" + stacks.Collapse(name) + " 7\n"
		got := text(t, &s)
		if got != want || strings.Count(got, ";") != 2 || strings.IndexFunc(got, unicode.IsControl) != len(got)-1 {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func saturated(a, b int64) int64 {
	switch sum := a + b; {
	case b > 0 && sum < a:
		return math.MaxInt64
	case b < 0 && sum > a:
		return math.MinInt64
	default:
		return sum
	}
}

func naiveBalance(sums []Sum) *Balance {
	if len(sums) < 2 {
		return nil
	}
	b := &Balance{DeviceCount: len(sums)}
	total := int64(0)
	for _, s := range sums {
		us := float64(s.NS) / 1000
		b.PerDeviceDurationUS = append(b.PerDeviceDurationUS, DeviceDuration{s.Name, us})
		b.MaxDurationUS = max(b.MaxDurationUS, us)
	}
	slices.SortFunc(b.PerDeviceDurationUS, func(x, y DeviceDuration) int { return strings.Compare(x.Device, y.Device) })
	for _, d := range b.PerDeviceDurationUS {
		i := slices.IndexFunc(sums, func(s Sum) bool { return s.Name == d.Device })
		total = saturated(total, sums[i].NS)
	}
	b.TotalDurationUS = float64(total) / 1000
	b.IdealDurationUS = b.TotalDurationUS / float64(len(sums))
	if b.IdealDurationUS > 0 {
		b.ImbalanceRatio = max(0, (b.MaxDurationUS-b.IdealDurationUS)/b.IdealDurationUS)
	}
	return b
}

func naiveBottlenecks(sums []Sum, totalNS int64, minRatio float64) []Bottleneck {
	result := []Bottleneck{}
	for _, s := range sums {
		us := float64(s.NS) / 1000
		if ratio := us / max(1e-9, float64(totalNS)/1000); ratio >= minRatio {
			result = append(result, Bottleneck{s.Name, us, ratio, s.Count})
		}
	}
	return result
}

func naiveCollapsed(entries []op.Entry) string {
	weights := map[string]int64{}
	for _, e := range entries {
		if e.Side == op.SideHost {
			continue
		}
		device := e.DeviceID
		if !e.HasDevice() {
			device = "unknown"
		}
		us := e.Duration / 1000
		if e.Duration%1000 >= 500 {
			us++
		}
		stack := "trace;" + strings.ReplaceAll(device, ";", ":") + ";" + strings.ReplaceAll(e.Operation, ";", ":")
		weights[stack] = saturated(weights[stack], max(us, 1))
	}
	var lines []string
	for stack, weight := range weights {
		lines = append(lines, stack+" "+strconv.FormatInt(weight, 10)+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int {
		return strings.Compare(a[:strings.LastIndexByte(a, ' ')], b[:strings.LastIndexByte(b, ' ')])
	})
	return strings.Join(lines, "")
}

// wildEntries have rare values: names in both cases, absent devices and ones called "" or "unknown", stacks of equal
// text, durations around rounding, zero and negative ones, and, if huge is set, sums beyond 64 bits.
func wildEntries(r *rand.Rand, n int, huge bool) (entries []op.Entry) {
	still := r.IntN(8) == 0
	for i := range n {
		e := tracetest.RandomEntry(r, i)
		e.Operation = tracetest.Pick(r, e.Operation, "allreduce", "AllReduce", "matmul", "", "b;c", "c")
		e.DeviceID = tracetest.Pick(r, "", "unknown", "cuda:0", "CUDA:0", "a;b", "a")
		e.EmptyDevice = e.DeviceID == "" && r.IntN(2) == 0
		e.Duration = tracetest.Pick(r, 0, 1, 499, 500, 501, 999, 1000, 1499, 1500, e.Duration, -e.Duration, -700)
		if still {
			e.Duration = 0
		} else if huge && r.IntN(3) == 0 {
			e.Duration = tracetest.Pick[int64](r, math.MaxInt64, math.MaxInt64-1, math.MaxInt64/2, math.MinInt64,
				math.MinInt64/2)
		}
		entries = append(entries, e)
	}
	return entries
}

func TestAnalysesAgainstDefinition(t *testing.T) {
	cases.Seeds(t, 300, func(seed uint64, r *rand.Rand) {
		entries := wildEntries(r, r.IntN(1+r.IntN(300)), seed%3 == 0)
		var sums []Sum
		total := int64(0)
		var stacks Stacks
		for i := range entries {
			e := &entries[i]
			stacks.Add(e)
			total = saturated(total, e.Duration)
			at := slices.IndexFunc(sums, func(s Sum) bool { return s.Name == e.Operation })
			if at < 0 {
				at = len(sums)
				sums = append(sums, Sum{Name: e.Operation})
			}
			sums[at].Count++
			sums[at].NS = saturated(sums[at].NS, e.Duration)
		}
		verify := func(name string, want, got any) {
			t.Helper()
			check.Equal(t, fmt.Sprintf("seed %d: %s", seed, name), want, got, cmpopts.EquateApprox(1e-15, 0))
		}
		verify("NewBalance", naiveBalance(sums), NewBalance(slices.Clone(sums)))
		minRatio := r.Float64()
		rows := Bottlenecks(slices.Clone(sums), total, minRatio)
		// Durations of equal microseconds in floating point are ordered by nanoseconds.
		if !slices.IsSortedFunc(rows, func(a, b Bottleneck) int {
			return cmp.Compare(b.TotalDurationUS,
				a.TotalDurationUS)
		}) {
			t.Errorf("seed %d: Bottlenecks in another order: %v", seed, rows)
		}
		byName := cmpopts.SortSlices(func(a, b Bottleneck) bool { return a.Operation < b.Operation })
		check.Equal(t, fmt.Sprintf("seed %d: Bottlenecks", seed), naiveBottlenecks(sums, total, minRatio), rows, byName,
			cmpopts.EquateApprox(1e-15, 0))
		verify("Stacks", naiveCollapsed(entries), text(t, &stacks))
	})
}
