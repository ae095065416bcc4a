package analyze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// A device name used by several services counts as several devices, as if they had different names.
func TestSharedDevicesAreSeparate(t *testing.T) {
	cases.Seeds(t, 20, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(60))
		for i := range specs {
			specs[i].Service = tracetest.Pick(r, "", "a", "b", "c")
			if specs[i].IsOp && r.IntN(3) > 0 {
				specs[i].Device = tracetest.Pick(r, "cuda:0", "cuda:1", "cuda:2", "cuda:3")
			}
		}
		renamed := slices.Clone(specs)
		for i, s := range specs {
			if s.IsOp && tracetest.ServicesOf(specs, s.Device) > 1 && !s.Rank.Known && s.Service != "" &&
				s.Device != "" {
				renamed[i].Device = s.Service + " " + s.Device
			}
			renamed[i].Service = ""
		}
		want := collected(r, plainRecords(renamed), Options{}, 1)
		for workers := 1; workers <= 3; workers++ {
			got := collected(r, plainRecords(specs), Options{}, workers)
			check.Equal(t, fmt.Sprintf("seed %d, %d workers", seed, workers), renamedJSON(t, want), renamedJSON(t, got))
		}
		for i := range specs { // operators only launch operations of their service
			specs[i].Launch = op.Int{}
			renamed[i].Launch = op.Int{}
		}
		var collapsed, renamedStacks bytes.Buffer
		check.OK(t, stacks.WriteForest(tracetest.AddTo(trace.New(), specs...), &collapsed))
		check.OK(t, stacks.WriteForest(tracetest.AddTo(trace.New(), renamed...), &renamedStacks))
		check.Equal(t, fmt.Sprintf("seed %d: stacks", seed), renamedStacks.String(), collapsed.String())
	})
}

func plainRecords(specs []tracetest.Spec) []op.Record {
	var records []op.Record
	for _, s := range specs {
		records = append(records, s.Record())
	}
	return records
}

// renamedJSON returns the report's JSON with services merged into device names and rows of devices sorted by text. It
// omits figures about spans, whose services are missing too, and lists ordered by name.
func renamedJSON(t *testing.T, r *Report) any {
	t.Helper()
	r.Findings = nil
	r.Operators = nil
	r.Slowest = nil
	r.Idle = nil
	r.Steps = nil
	r.Memory.Hotspots = nil
	delete(r.Input.Warnings, warnDeviceShared)
	if slow := r.SlowestRequest; slow != nil {
		slow.Service = ""
		slow.Alike = 0
		slow.MedianNS = 0
	}
	var all any
	check.OK(t, json.Unmarshal(reportJSON(t, r), &all))
	var rename func(v any) (isDevice bool)
	rename = func(v any) (isDevice bool) {
		switch v := v.(type) {
		case []any:
			for _, row := range v {
				isDevice = rename(row) || isDevice
			}
			if isDevice {
				slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
			return false
		case map[string]any:
			for _, member := range v {
				rename(member)
			}
			if _, isDevice = v["device_id"]; v["service"] != nil && isDevice {
				v["device_id"] = fmt.Sprint(v["service"], " ", v["device_id"])
				delete(v, "service")
			}
		}
		return isDevice
	}
	rename(all)
	return all
}
