package kineto_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
)

// The steps and phases of recorded kernels agree with the ranges in the JSON open at their launches: nanoseconds by
// step and phase, from a search of all ranges and operators for each launch.
func TestRecordedSteps(t *testing.T) {
	cases.NotUnderRace(t, cases.OneGoroutine)
	for name, want := range map[string]map[string]map[string]int64{
		"nccl_data.json.gz": {
			"ProfilerStep#4": {"": 510780, "backward": 25291215, "communication": 11989021, "forward": 12896854,
				"optimizer": 693145},
			"ProfilerStep#5": {"": 499095, "backward": 25227649, "communication": 12300029, "forward": 12878104,
				"optimizer": 691989},
			"ProfilerStep#6": {"": 520759, "backward": 25527881, "communication": 22587443, "forward": 12878730,
				"optimizer": 693144},
		},
		"mi250_minitoy_train_ROCm6_2_kineto.json.gz": {"ProfilerStep#1": {"": 92081, "backward": 48480,
			"optimizer": 8481}},
		"sampled_rank-1.json.gz": {
			"ProfilerStep#551": {"": 2714000, "backward": 90779000, "communication": 168027000, "data": 350000,
				"forward":   41358000,
				"optimizer": 3014000},
			"ProfilerStep#552": {"": 2704000, "backward": 91365000, "communication": 211026000, "data": 11767000,
				"forward":   41587000,
				"optimizer": 2839000},
		},
		"simple_add.json.gz": {"": {"": 49816000}},
	} {
		t.Run(name, func(t *testing.T) {
			got := make(map[string]map[string]int64)
			entries, _ := recordtest.Split(t, kineto.Records(openRecorded(t, name), name, nil))
			for _, e := range entries {
				if e.Side != 0 {
					continue
				}
				if got[e.StepName] == nil {
					got[e.StepName] = make(map[string]int64)
				}
				got[e.StepName][e.Phase] += e.Duration
			}
			check.Equal(t, "ns by step and phase", want, got)
		})
	}
}

// Steps without numbers count up. Without marked steps, repeating unknown ranges are the steps. Steps are no part of a
// path.
func TestStepsOfRanges(t *testing.T) {
	trace := func(names ...string) string {
		var b strings.Builder
		b.WriteString(`{"traceEvents":[`)
		for i, name := range names {
			fmt.Fprintf(&b, `{"ph":"X","cat":"user_annotation","name":%q,"pid":1,"tid":1,"ts":%d,"dur":10},
				{"ph":"X","cat":"user_annotation","name":"layer","pid":1,"tid":1,"ts":%d,"dur":8},
				{"ph":"X","cat":"cuda_runtime","name":"launch","pid":1,"tid":1,"ts":%d,"dur":1,
					"args":{"correlation":%d}},
				{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":5,"args":{"correlation":%[5]d,
					"device":0,"stream":7}},`,
				name, i*20, i*20+1, i*20+2, i+1, i*20+15)
		}
		return b.String() + "{}]}"
	}
	for _, c := range []struct {
		name   string
		ranges []string
		want   []string
	}{
		{
			"steps of an engine", []string{"execute_context_1(9)_generation_0(0)",
				"execute_context_0(0)_generation_2(2)"},
			[]string{"0 execute_context_1(9)_generation_0(0) prefill layer",
				"1 execute_context_0(0)_generation_2(2) decode layer"},
		},
		{
			"ranges that repeat", []string{"a", "b", "a", "a", "a"},
			[]string{"0 a  a/layer", "unknown   b/layer", "1 a  a/layer", "2 a  a/layer", "3 a  a/layer"},
		},
		{"ranges that come three times", []string{"a", "a", "a"}, []string{"unknown   a/layer", "unknown   a/layer",
			"unknown   a/layer"}},
		{
			"marks of two kinds", []string{"ProfilerStep#4", "step[DECODE bs=2]"},
			[]string{"unknown   layer", "0 step[DECODE bs=2] decode layer"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			entries, _ := recordtest.Split(t, kineto.Records(strings.NewReader(trace(c.ranges...)), "trace", nil))
			for _, e := range entries {
				got = append(got, e.Step.String()+" "+e.StepName+" "+e.Phase+" "+e.Path)
			}
			check.Equal(t, "entries", c.want, got)
		})
	}
}
