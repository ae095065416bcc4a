// Package kineto compares the command optrace, which makes a report of a trace of
// PyTorch's profiler, with Python, which only loads the JSON.
package kineto

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"

	"github.com/optrace/optrace/bench/internal/cache"
	"github.com/optrace/optrace/bench/measure"
)

// The sides of the suites.
const (
	python = "python3, json.load"
	ours   = "optrace report"
)

// The program that Python runs.
const loadJSON = "import json, sys; json.load(open(sys.argv[1]))"

// Suite returns the comparison: processes that read a trace in the page cache, by
// processor time. Ours prints count, sum, extremes and percentiles of each operation and
// of each device; Python loads the file and does nothing else.
func Suite() []measure.Measure {
	m := measure.Measure{
		Name: "kineto_vs_python_json", Target: 6, What: "a trace of PyTorch's profiler, the whole process",
		Limit: "instructions per byte; the copy out of the page cache is a fifth",
	}
	for _, l := range []layout{indented, compact} {
		s := &measure.Suite{
			Name: "Kineto, " + string(l), Unit: "event", Cold: true, Rounds: 5, QuickRounds: 3,
			Open: func(ctx context.Context, env *measure.Env, _ measure.Want) (*measure.Opened, error) {
				return open(ctx, env, l)
			},
		}
		m.Cases = append(m.Cases, measure.Case{Data: string(l), Suite: s, Peer: python, Ours: ours})
	}
	return []measure.Measure{m}
}

func open(ctx context.Context, env *measure.Env, l layout) (*measure.Opened, error) {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		return nil, &measure.UnavailableError{Need: "python3"}
	}
	program, err := cache.Program(ctx, env.Cache, "", "./cmd/optrace")
	if err != nil {
		return nil, err
	}
	const events, quickEvents = 1_000_000, 300_000
	n := env.Size(events, quickEvents)
	var sum summary
	path, err := cache.Get(env.Cache, fmt.Sprintf("kineto-v%d-%s-%d.json", version, l, n), nil, func(path string) error {
		env.Log("writing a trace of %d events", n)
		_, err := writeFile(path, l, n)
		return err
	})
	if err == nil {
		sum = summarise(n)
	}
	return newSides(interpreter, program, path, l, sum), err
}

// newSides returns the sides over a trace that adds up to sum.
func newSides(interpreter, program, path string, l layout, sum summary) *measure.Opened {
	var resident, residentPython int64
	return &measure.Opened{
		Sides: map[string]measure.Side{
			python: func(ctx context.Context) (measure.Sample, error) {
				s, _, err := measure.CommandRSS(ctx, sum.events, interpreter, "-c", loadJSON, path)
				residentPython = max(residentPython, s.RSS)
				return s, err
			},
			ours: func(ctx context.Context) (measure.Sample, error) {
				s, out, err := measure.CommandRSS(ctx, sum.events, program, "report", "-json", "-by", "device", "-section", "summary", path)
				if err == nil {
					err = checkReport(out, sum)
				}
				resident = max(resident, s.RSS)
				return s, err
			},
		},
		After: func(context.Context) (map[string]float64, error) {
			if l != indented || resident == 0 {
				return nil, nil
			}
			const mega = 1e6
			return map[string]float64{
				"kineto_columns_mb":          float64(sum.columns()) / mega,
				"kineto_resident_mb":         float64(resident) / mega,
				"kineto_resident_python_mb":  float64(residentPython) / mega,
				"kineto_resident_vs_columns": float64(resident) / float64(sum.columns()),
			}, nil
		},
	}
}

// checkReport returns an error unless a report has the operations of a trace.
func checkReport(text []byte, want summary) error {
	var rep struct {
		Operations []struct {
			Count int64 `json:"count"`
			Sum   int64 `json:"sum_ns"`
		} `json:"operations"`
	}
	if err := json.Unmarshal(text, &rep); err != nil {
		return fmt.Errorf("the report: %w", err)
	}
	var count, sum int64
	for _, o := range rep.Operations {
		count, sum = count+o.Count, sum+o.Sum
	}
	if count != want.hostOps+want.deviceOps || sum != want.ns {
		return fmt.Errorf("%d operations of %d ns, want %d of %d ns", count, sum, want.hostOps+want.deviceOps, want.ns)
	}
	return nil
}
