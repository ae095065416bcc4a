package kineto_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/opmodel"
	"github.com/optrace/optrace/internal/recordtest"
)

// forwardsOf returns the names of the forward operators of the operators on the host, "" for none, in the order of the trace.
func forwardsOf(t *testing.T, text string) []string {
	t.Helper()
	var names []string
	entries, _ := recordtest.Split(t, kineto.Records(strings.NewReader(text), "trace", nil))
	for _, e := range entries {
		if e.DeviceID == "cpu" {
			name := ""
			if a := opmodel.FindAttr(e.Attrs, "tensor.autograd.forward.name"); a != nil {
				name = a.Value
			}
			names = append(names, name)
		}
	}
	return names
}

// operator is the text of an operator on the host with a number of autograd.
func operator(name string, pid, tid, ts, number, forward int) string {
	return fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":%q,"pid":%d,"tid":%d,"ts":%d,"dur":1,`+
		`"args":{"Sequence number":%d,"Fwd thread id":%d}}`, name, pid, tid, ts, number, forward)
}

func TestGradients(t *testing.T) {
	text := "[" + strings.Join([]string{
		operator("aten::linear", 1, 1, 0, 4, 0), operator("aten::t", 1, 1, 1, 4, 0), operator("aten::addmm", 1, 1, 2, 5, 0),
		operator("aten::max_pool2d_with_indices", 1, 1, 3, 6, 0), operator("aten::relu_", 1, 1, 4, 7, 0), operator("aten::relu_", 1, 2, 5, 7, 0),
		operator("autograd::engine::evaluate_function: MaxPool2DWithIndicesBackward0", 1, 3, 10, 6, 1),
		operator("AddmmBackward0", 1, 3, 11, 5, 1),
		operator("TBackward0", 1, 3, 12, 4, 1), operator("ReluBackward0", 1, 3, 13, 7, 1), operator("CppNode<AddmmBackward0>", 1, 3, 14, 5, 1),
		operator("SplitBackward0", 1, 3, 15, 5, 1), operator("AddmmBackward0", 2, 3, 16, 5, 1), operator("aten::addmm", 1, 1, 20, 5, 0),
	}, ",") + "]"
	var attrs string
	entries, _ := recordtest.Split(t, kineto.Records(strings.NewReader(text), "trace", nil))
	for _, e := range entries {
		if e.Operation == "AddmmBackward0" || e.Operation == "aten::t" {
			attrs += fmt.Sprintln(e.Operation, e.Attrs)
		}
	}
	check.Equal(t, "attributes", `aten::t [{tensor.autograd.sequence 4 1}]
AddmmBackward0 [{tensor.autograd.sequence 5 1} {tensor.autograd.forward.thread 1 1} {tensor.autograd.forward.name aten::addmm 0}]
AddmmBackward0 [{tensor.autograd.sequence 5 1} {tensor.autograd.forward.thread 1 1}]
`, attrs)
	want := []string{"", "", "", "", "", "", "aten::max_pool2d_with_indices", "aten::addmm", "aten::t", "", "", "", "", ""}
	check.Equal(t, "forward operators", want, forwardsOf(t, text))
}

// Forward operators are those that a program finds that looks at all of them for each backward operator.
func TestGradientsAgainstNaive(t *testing.T) {
	cases.Seeds(t, 100, func(seed uint64, r *rand.Rand) {
		type event struct {
			kind                         string
			pid, tid, ts, number, thread int
		}
		var events []event
		var texts []string
		for i := range r.IntN(60) {
			e := event{[]string{"Mul", "Addmm"}[r.IntN(2)], 1 + r.IntN(2), 1 + r.IntN(2)/(1+int(seed%2)), r.IntN(50), r.IntN(5), r.IntN(2)}
			name := map[bool]string{true: e.kind + "Backward0", false: "aten::" + strings.ToLower(e.kind)}[e.thread > 0]
			events, texts = append(events, e), append(texts, operator(name, e.pid, e.tid, e.ts*100+i, e.number, e.thread))
			events[i].ts = e.ts*100 + i
		}
		var want []string
		for _, b := range events {
			name, threads := "", map[int]bool{}
			for _, f := range events {
				if b.thread > 0 && f.thread == 0 && f.number == b.number && f.pid == b.pid && f.kind == b.kind && f.ts < b.ts {
					name, threads[f.tid] = "aten::"+strings.ToLower(f.kind), true
				}
			}
			if len(threads) > 1 {
				name = ""
			}
			want = append(want, name)
		}
		check.Equal(t, fmt.Sprint("seed ", seed), want, forwardsOf(t, "["+strings.Join(texts, ",")+"]"))
	})
}

// Where a recorded trace has arrows from forward to backward operators, which its recorder drew, they tell the same.
func TestGradientsAgainstArrows(t *testing.T) {
	total := 0
	for _, want := range expectations(t) {
		text := check.Must(io.ReadAll(openRecorded(t, want.File)))(t)
		var trace struct {
			TraceEvents []struct {
				Ph, Cat, Name string
				ID            int
				Pid, Tid      any
				TS            json.Number
			}
		}
		check.OK(t, json.Unmarshal(text, &trace))
		at := func(i int) string {
			e := &trace.TraceEvents[i]
			return fmt.Sprint(e.Pid, " ", e.Tid, " ", e.TS)
		}
		names, arrows := map[string]string{}, map[int]string{} // by place, and by number
		for i, e := range trace.TraceEvents {
			switch {
			case e.Cat == "cpu_op":
				names[at(i)] = e.Name // of several at one time the innermost
			case e.Cat == "fwdbwd" && e.Ph == "s":
				arrows[e.ID] = at(i)
			}
		}
		forward := map[string]string{}
		for i, e := range trace.TraceEvents {
			if e.Cat == "fwdbwd" && e.Ph == "f" {
				forward[at(i)] = names[arrows[e.ID]]
			}
		}
		got := forwardsOf(t, string(text))
		for i, e := range trace.TraceEvents {
			if e.Cat != "cpu_op" {
				continue
			}
			if name := forward[at(i)]; name != "" {
				if total++; got[0] != name {
					t.Errorf("%s: %s is backward of %q, want %q", want.File, e.Name, got[0], name)
				}
			}
			got = got[1:]
		}
	}
	if total == 0 {
		t.Error("no arrows")
	}
}
