package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
)

const loadJSON = "import json, sys; json.load(open(sys.argv[1]))"

// openKineto opens a suite over a trace of PyTorch's profiler.
func openKineto(ctx context.Context, env *measure.Env, l layout) (*measure.Opened, error) {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		return nil, &measure.UnavailableError{Need: "python3"}
	}
	program, err := env.OptraceProgram(ctx)
	if err != nil {
		return nil, err
	}
	const quickEvents = 300_000
	n := env.Size(million, quickEvents)
	sum := summarise(n)
	path, err := env.Prepared(fmt.Sprintf("kineto-v%d-%s-%d.json", version, l, n), func(path string) error {
		env.Log("writing a trace of %d events", n)
		return workload.Create(path, func(f *os.File) error {
			t := newTrace(f, l)
			t.write(n)
			return t.w.Flush()
		})
	})
	resident := map[string]int64{}
	side := func(name, program string, check func([]byte) error, args ...string) measure.Side {
		return func(ctx context.Context) (measure.Sample, error) {
			s, out, err := measure.Command(ctx, sum.events, program, args...)
			if err == nil {
				err = check(out)
			}
			resident[name] = max(resident[name], s.RSS)
			return s, err
		}
	}
	return &measure.Opened{
		Sides: map[string]measure.Side{
			python: side(python, interpreter, func([]byte) error { return nil }, "-c", loadJSON, path),
			ours:   side(ours, program, sum.check, reportArgs(path)...),
		},
		After: func(context.Context) (map[string]float64, error) {
			if l != indented || resident[ours] == 0 {
				return nil, nil
			}
			const mega = 1e6
			return map[string]float64{
				"kineto_resident_mb":        float64(resident[ours]) / mega,
				"kineto_resident_python_mb": float64(resident[python]) / mega,
			}, nil
		},
	}, err
}

// check returns an error unless a report has the operations of the trace.
func (s totals) check(report []byte) error {
	rows, err := parseReport(report)
	count, ns := 0.0, 0.0
	for _, r := range rows {
		if strings.HasPrefix(r.Name, operationPrefix) {
			count, ns = count+r.Count, ns+r.Sum
		}
	}
	if err == nil && (count != float64(s.ops) || ns != float64(s.ns)) {
		err = fmt.Errorf("%.0f operations of %.0f ns, want %d of %d ns", count, ns, s.ops, s.ns)
	}
	return err
}
