package captures_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/internal/read/captures"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/op"
)

// writer writes a trace of PyTorch's profiler.
type writer struct {
	events      []string
	correlation int
}

func (w *writer) add(cat, name string, ts, dur int, args string) {
	w.events = append(w.events, fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":2,"ts":%d,"dur":%d,"args":{%s}}`, cat, name,
		ts, dur, args))
}

func (w *writer) call(name string, ts int) int {
	w.correlation++
	w.add("cuda_runtime", name, ts, 1, fmt.Sprintf(`"correlation":%d`, w.correlation))
	return w.correlation
}

func (w *writer) records(f func(op.Record)) {
	for rec, err := range kineto.Records(strings.NewReader("["+strings.Join(w.events, ",")+"]"), "trace", nil) {
		if err != nil {
			panic(err)
		}
		f(rec)
	}
}

// operator is one of a model: its kernels, and rows of its input.
type operator struct {
	name, module string
	kernels      []string
	rows         int
}

func (o *operator) shape() string { return fmt.Sprintf("[[%d,64],[64,64]]", o.rows) }

// model returns operators. Models of equal seeds differ in their rows.
func model(seed uint64, rows int) (all []operator) {
	r := rand.New(rand.NewPCG(seed, 1))
	for layer := range 2 + r.IntN(5) {
		for range 3 + r.IntN(6) {
			o := operator{name: []string{"aten::mm", "aten::add", "aten::copy_"}[r.IntN(3)], module: fmt.Sprint("nn.Module: L_", layer),
				rows: rows}
			for range 1 + r.IntN(3) {
				o.kernels = append(o.kernels, []string{"gemm_k", "add_k", "reduce_k", "Memcpy DtoD"}[r.IntN(4)])
			}
			all = append(all, o)
		}
	}
	return all
}

// capture writes a capture of operators: with their kernels, run by the way, and with numbers of nodes from first on.
func (w *writer) capture(at int, all []operator, runs bool, first int) int {
	if !runs {
		w.call("cudaStreamBeginCapture", at)
	}
	node := first
	for _, o := range all {
		start := at + 2
		at += 4
		for _, k := range o.kernels {
			call, cat := "cudaLaunchKernel", "kernel"
			if strings.HasPrefix(k, "Mem") {
				call, cat = "cudaMemcpyAsync", "gpu_memcpy"
			}
			n := w.call(call, at)
			if runs {
				args := fmt.Sprintf(`"device":0,"stream":7,"correlation":%d`, n)
				if first > 0 {
					args += fmt.Sprintf(`,"graph node id":%d`, node)
				}
				w.add(cat, k, at+50, 1, args)
			}
			node++
			at += 3
		}
		w.add("cpu_op", o.name, start, at-start, `"Input Dims":`+o.shape()+`,"Input type":["float","float"]`)
		w.add("python_function", o.module, start-1, at-start+2, "")
		at += 2
	}
	if !runs {
		w.call("cudaStreamEndCapture", at)
	}
	return at + 100
}

// replay writes replays of a graph, and returns the operators of the nodes.
func (w *writer) replay(at int, all []operator, graph, first int, numbered bool) (int, map[string]*operator) {
	nodes := make(map[string]*operator)
	for range 3 {
		n := w.call("cudaGraphLaunch", at)
		node := first
		for i := range all {
			for _, k := range all[i].kernels {
				cat := "kernel"
				if strings.HasPrefix(k, "Mem") {
					cat = "gpu_memcpy"
				}
				args := fmt.Sprintf(`"device":0,"stream":7,"correlation":%d`, n)
				if numbered {
					args += fmt.Sprintf(`,"graph id":%d,"graph node id":%d`, graph, node)
				}
				w.add(cat, k, at+5, 2, args)
				nodes[fmt.Sprint((at+5)*1000)] = &all[i]
				at += 3
				node++
			}
		}
		at += 50
	}
	return at, nodes
}

// The operations of replays get the operators, modules and shapes of a capture of the same operators, and no others.
func TestOperatorsOfReplays(t *testing.T) {
	right, shapes, all := 0, 0, 0
	cases.Inputs(t, 200, 2000, func(seed uint64, r *rand.Rand) {
		one, other := model(seed, 8), model(seed+uint64(r.IntN(2)), 16) // sometimes equal except for rows
		runs, numbered := r.IntN(2) == 0, 0
		if runs {
			numbered = 40 * r.IntN(2)
		}
		isForeign := r.IntN(5) == 0 // the capture of another model
		var c, s writer
		if isForeign {
			c.capture(c.capture(100, model(seed+7, 8), runs, 0), model(seed+9, 8), runs, 0)
		} else {
			at := c.capture(100, one, runs, numbered)
			c.capture(at, other, runs, numbered*20)
		}
		hasNodes := r.IntN(4) > 0
		at, nodes := s.replay(100, one, 3, 40, hasNodes)
		_, more := s.replay(at, other, 4, 800, hasNodes)
		x := captures.New()
		c.records(x.Capture)
		s.records(func(rec op.Record) {
			if rec.Entry != nil {
				x.Serve(rec.Entry)
			}
		})
		x.Match()
		s.records(func(rec op.Record) {
			e := rec.Entry
			if e == nil {
				return
			}
			id := fmt.Sprint(e.Start.V)
			want := nodes[id]
			if want == nil {
				want = more[id]
			}
			x.Apply(e)
			all++
			if e.LaunchedBy != "" {
				right++
				if !isForeign && (e.LaunchedBy != want.name || e.Path != "" && e.Path != want.module) {
					t.Errorf("seed %d: node %s is of %s in %s, want %+v", seed, id, e.LaunchedBy, e.Path, want)
				}
			} else if !isForeign {
				t.Errorf("seed %d: node %s has no operator, want %+v", seed, id, want)
			}
			if e.InputShapes == nil && !runs && !isForeign && hasNodes {
				t.Errorf("seed %d: node %s has no shapes", seed, id)
			} else if e.InputShapes != nil {
				shapes++
				if got := fmt.Sprint(e.InputShapes); got != fmt.Sprintf("[%dx64 64x64]", want.rows) && !isForeign {
					t.Errorf("seed %d: node %s has the shapes %s, want %s", seed, id, got, want.shape())
				}
			}
		})
	})
	if right == 0 || shapes == 0 {
		t.Errorf("%d operations, %d with an operator, %d with shapes", all, right, shapes)
	}
}
