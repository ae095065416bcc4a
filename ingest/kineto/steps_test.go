package kineto_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/recordtest"
)

// rawEvent is an event of a trace as its JSON has it.
type rawEvent struct {
	Ph, Cat, Name string
	PID, TID      json.RawMessage
	TS, Dur       float64
	Args          struct {
		Correlation int64
		External    int64 `json:"External id"`
	}
}

func (e *rawEvent) holds(thread *rawEvent, at float64) bool {
	return string(e.PID) == string(thread.PID) && string(e.TID) == string(thread.TID) && e.TS <= at && (at < e.TS+e.Dur || at == e.TS)
}

// The steps and phases of the kernels of recorded traces are those of the ranges in the JSON that were
// open at their launches.
func TestRecordedSteps(t *testing.T) {
	cases.NotUnderRace(t, cases.OneGoroutine)
	for _, name := range []string{
		"nccl_data.json.gz", "mi250_minitoy_train_ROCm6_2_kineto.json.gz", "sampled_rank-1.json.gz", "simple_add.json.gz",
	} {
		t.Run(name, func(t *testing.T) {
			text := check.Must(io.ReadAll(openRecorded(t, name)))(t)
			got := make(map[string]int64)
			entries, _ := recordtest.Split(t, kineto.Records(bytes.NewReader(text), name, nil))
			for _, e := range entries {
				if e.Side == 0 {
					got[e.StepName+" "+e.Phase] += e.Duration
				}
			}
			check.Equal(t, "ns by step and phase", naivePhases(t, text), got)
		})
	}
}

// naivePhases adds up the nanoseconds of kernels by step and phase.
func naivePhases(t *testing.T, text []byte) map[string]int64 {
	var doc struct{ TraceEvents []rawEvent }
	check.OK(t, json.Unmarshal(text, &doc))
	sums := make(map[string]int64)
	launches := make(map[int64]*rawEvent)
	var annotations, operators []*rawEvent
	for i := range doc.TraceEvents {
		switch e := &doc.TraceEvents[i]; e.Cat {
		case "cuda_runtime", "cuda_driver":
			if l := launches[e.Args.Correlation]; l == nil || e.TS < l.TS {
				launches[e.Args.Correlation] = e
			}
		case "user_annotation":
			annotations = append(annotations, e)
		case "cpu_op":
			operators = append(operators, e)
		}
	}
	for _, k := range doc.TraceEvents {
		if k.Ph != "X" || k.Cat != "kernel" && !strings.HasPrefix(k.Cat, "gpu_mem") {
			continue
		}
		call := launches[k.Args.Correlation]
		if call == nil { // the operator of the same external id is all there is
			for _, o := range operators {
				if k.Args.External != 0 && o.Args.External == k.Args.External {
					call = o
					break
				}
			}
		}
		step, phase := "", ""
		if call != nil {
			step, phase = naiveMark(call, annotations, operators)
		}
		sums[step+" "+phase] += int64(math.Round(k.Dur * 1000))
	}
	return sums
}

var phaseWords = []struct {
	phase string
	names *regexp.Regexp
}{
	{"communication", regexp.MustCompile("^nccl:")}, {"optimizer", regexp.MustCompile("^(Optimizer[.]|## optimizer ##)")},
	{"forward", regexp.MustCompile("^(## forward ##|DistributedDataParallel.forward)")},
	{"backward", regexp.MustCompile("^## backward ##")},
	{"data", regexp.MustCompile("^(## data_load ##|enumerate)")},
}

// naiveMark returns the step and the phase of a launch.
func naiveMark(call *rawEvent, annotations, operators []*rawEvent) (step, phase string) {
	shortest := math.Inf(1)
	for _, a := range annotations {
		if strings.HasPrefix(a.Name, "ProfilerStep#") && string(a.PID) == string(call.PID) && a.TS <= call.TS && call.TS < a.TS+a.Dur {
			step = a.Name
		}
		for _, w := range phaseWords {
			if w.names.MatchString(a.Name) && a.holds(call, call.TS) && a.Dur < shortest {
				phase, shortest = w.phase, a.Dur
			}
		}
	}
	var outermost *rawEvent
	for _, o := range operators {
		if o.holds(call, call.TS) && (outermost == nil || o.Dur > outermost.Dur) {
			outermost = o
		}
	}
	switch {
	case phase != "" || outermost == nil:
	case strings.HasPrefix(outermost.Name, "autograd::engine::evaluate_function: "):
		phase = "backward"
	case outermost.Name == "forward": // a module that was compiled
		phase = "forward"
	}
	return step, phase
}

// Of steps without numbers each is the next one; the ranges of no rule that repeat are steps where there are
// no others; steps are no part of the path.
func TestStepsOfRanges(t *testing.T) {
	trace := func(names ...string) string {
		var b strings.Builder
		b.WriteString(`{"traceEvents":[`)
		for i, name := range names {
			fmt.Fprintf(&b, `{"ph":"X","cat":"user_annotation","name":%q,"pid":1,"tid":1,"ts":%d,"dur":10},
				{"ph":"X","cat":"user_annotation","name":"layer","pid":1,"tid":1,"ts":%d,"dur":8},
				{"ph":"X","cat":"cuda_runtime","name":"launch","pid":1,"tid":1,"ts":%d,"dur":1,"args":{"correlation":%d}},
				{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":5,"args":{"correlation":%[5]d,"device":0,"stream":7}},`,
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
			"steps of an engine", []string{"execute_context_1(9)_generation_0(0)", "execute_context_0(0)_generation_2(2)"},
			[]string{"0 execute_context_1(9)_generation_0(0) prefill layer", "1 execute_context_0(0)_generation_2(2) decode layer"},
		},
		{
			"ranges that repeat", []string{"a", "b", "a", "a", "a"},
			[]string{"0 a  a/layer", "unknown   b/layer", "1 a  a/layer", "2 a  a/layer", "3 a  a/layer"},
		},
		{"ranges that come three times", []string{"a", "a", "a"}, []string{"unknown   a/layer", "unknown   a/layer", "unknown   a/layer"}},
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
