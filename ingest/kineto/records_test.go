package kineto_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

const kernel = `{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":10.25,"dur":2,"args":{"device":0,` +
	`"stream":7}}`

func TestRecords(t *testing.T) { recordtest.Cases(t, kineto.Records) }

func TestRecordsReportTheCutOnce(t *testing.T) {
	text := check.Must(os.ReadFile("testdata/train.json"))(t)
	whole := len(strings.TrimSpace(string(text)))
	for n := 1; n < whole; n += 37 {
		errs := 0
		for _, err := range kineto.Records(strings.NewReader(string(text[:n])), "trace", nil) {
			if err == nil {
				continue
			}
			errs++
			var syntax *op.SyntaxError
			if !errors.As(err, &syntax) || !syntax.Truncated || syntax.Offset != int64(n) {
				t.Errorf("cut at %d: %v", n, err)
			}
		}
		if errs != 1 {
			t.Errorf("cut at %d: %d errors", n, errs)
		}
	}
}

func TestRecordsWithMapping(t *testing.T) {
	m := &attr.Mapping{}
	m.Keep("queued")
	m.Keep("correlation")
	m.Alias("layer", attrkey.Path)
	text := `[{"ph":"X","cat":"kernel","name":"gemm","ts":1,"dur":2,"args":{"queued":0,"grid":[1,2],"layer":"encoder` +
		`.0","device":3,` +
		`"correlation":8}},
		{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":1,"dur":2,"args":{"layer":"encoder.1","Input Dims":[[2]]}}]`
	golden.Check(t, "testdata/mapping.txt", transcript(t, []byte(text), m))
}

func TestRecordsEnd(t *testing.T) {
	bad := `[{"ph":"X"},{"ph":"X","name":"s","ts":1,"dur":2,"args":{"tensor.op.name":"relu"}},` + kernel
	recordtest.Ends(t, kineto.Records, string(check.Must(os.ReadFile("testdata/train.json"))(t)), bad+"]", bad)
}

// transcript returns the records of a trace, one per line.
func transcript(t testing.TB, text []byte, m *attr.Mapping) string {
	t.Helper()
	return recordtest.Transcript(t, kineto.Records(bytes.NewReader(text), "trace", m))
}

// TestGolden reads each trace in testdata:
//
//	train.json           events of a training run: fractional times, launches
//	                     before and behind their kernels, nested operators,
//	                     overlapping streams, collectives; rank and time base
//	                     behind the events
//	rocm.json            AMD's calls, without a rank
//	first_versions.json  capitalised categories in a bare array; external ids
//	                     that repeat the correlation id
//	plain.json           no categories of Kineto: spans with ids, begin and end
func TestGolden(t *testing.T) { recordtest.Golden(t, ".json", kineto.Records) }

// Without marks of steps, each call of PyTorch's optimizer ends one.
func TestStepsEndWithTheOptimizer(t *testing.T) {
	var events []string
	event := func(cat, name string, ts, dur int) {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":1,"ts":%d,"dur":%d}`, cat, name, ts, dur))
	}
	const steps = 3
	for i := range steps {
		event("cpu_op", "aten::mm", 100*i, 20)
		event("user_annotation", "Optimizer.step#SGD.step", 100*i+50, 30)
	}
	event("cpu_op", "aten::mm", 100*steps, 20) // behind the last step
	var got []op.Int
	for record, err := range kineto.Records(strings.NewReader("["+strings.Join(events, ",")+"]"), "trace", nil) {
		check.OK(t, err)
		if record.Entry != nil {
			got = append(got, record.Entry.Step)
		}
	}
	check.Equal(t, "", []op.Int{op.Known(int64(0)), op.Known(int64(1)), op.Known(int64(2)), {}}, got)
}

// Ascend's queue of launches is understood.
func TestQueueOfAscend(t *testing.T) {
	const event = `{"ph":"X","cat":"%s","name":"%s@Conv2D","pid":1,"tid":%d,"ts":1,"dur":2000}`
	text := fmt.Sprintf("["+event+","+event+"]", "enqueue", "Enqueue", 1, "dequeue", "Dequeue", 2)
	for record, err := range kineto.Records(strings.NewReader(text), "trace", nil) {
		check.OK(t, err)
		if record.Skipped.N > 0 {
			check.Equal(t, "", op.Skipped{Reason: op.SkipRuntime, N: 2}, record.Skipped)
		}
	}
}
