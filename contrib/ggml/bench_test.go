//go:build unix

package ggml

import (
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/ebitengine/purego"
	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/llamacpp"
)

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	check.OK(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkOperation measures the processor time of an operation, without the library's call, up to the file: steps of
// 136 operations and 34 views.
func BenchmarkOperation(b *testing.B) {
	var all []*tensor
	for len(all) < 170 {
		all = append(all, graph()...)
	}
	sdk := check.Must(optrace.Setup(filepath.Join(b.TempDir(), "ops.jsonl")))(b)
	for _, side := range []struct {
		name string
		to   Recording
		mode Mode
	}{{"Processor", sdk.Processor(), EveryOperation}, {"Tracer", sdk.Tracer(), EveryOperation},
		{"Layers", sdk.Processor(), EveryLayer}} {
		b.Run(side.name, func(b *testing.B) {
			h := newHook(side.to, side.mode)
			b.ReportAllocs()
			before := processorTime(b)
			for b.Loop() {
				h.Start(b.Context())
				evaluateAll(b, h, all)
				h.Finish()
			}
			operations := len(all) - len(all)/10*2
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N*operations), "cpu-ns/operation")
		})
	}
	check.OK(b, sdk.Shutdown(b.Context()))
}

// BenchmarkStep measures steps of a model of real width, in turns: without a callback, with empty callbacks after each
// node and after each layer, and with recording ones.
func BenchmarkStep(b *testing.B) {
	e := newEngine(b, llamacpp.Model{Layers: 4, Width: 1024, Hidden: 4096, Heads: 16, Vocabulary: 4096, Context: 256})
	for e.threads = 1; e.threads <= 2; e.threads++ {
		b.Run(fmt.Sprintf("%d threads", e.threads), e.benchmark)
	}
}

// side is a way to run a step, with the duration of each step.
type side struct {
	hook      *Hook
	lctx      llama.Context
	wall, cpu []float64 // ns
}

func (e *engine) benchmark(b *testing.B) {
	sdk, err := optrace.Setup(filepath.Join(b.TempDir(), "ops.jsonl"))
	check.OK(b, err)
	nodes := 0
	bare := purego.NewCallback(func(_ uintptr, ask bool, _ uintptr) bool {
		if !ask {
			nodes++
		}
		return true
	})
	asked := 0
	seldom := purego.NewCallback(func(_ uintptr, ask bool, _ uintptr) bool { // as many as layers
		if !ask {
			return true
		}
		asked++
		return asked%32 == 0
	})
	var sides [5]side // off, bare, every operation, every layer, seldom
	for i, mode := range []Mode{Off, Off, EveryOperation, EveryLayer, Off} {
		s := &sides[i]
		s.lctx = e.context(b, func(p *llama.ContextParams) {
			s.hook, err = Attach(p, sdk.Processor(), mode)
			switch i {
			case 1:
				p.CbEval = bare
			case 4:
				p.CbEval = seldom
			}
		})
		check.OK(b, err)
		e.decode(b, s.hook, s.lctx)
	}
	nodes = 0
	for b.Loop() {
		for i := range sides {
			s := &sides[i]
			began := time.Now()
			before := processorTime(b)
			e.decode(b, s.hook, s.lctx)
			s.wall = append(s.wall, float64(time.Since(began)))
			s.cpu = append(s.cpu, float64(processorTime(b)-before))
		}
	}
	nodes /= b.N
	off := &sides[0]
	bared := &sides[1]
	every := &sides[2]
	layer := &sides[3]
	b.ReportMetric(median(off.wall)/1e6, "ms/step")
	b.ReportMetric(float64(nodes), "nodes/step")
	b.ReportMetric(median(difference(every.wall, bared.wall))/float64(nodes), "ns/node-above-bare")
	b.ReportMetric(median(difference(every.cpu, bared.cpu))/float64(nodes), "cpu-ns/node-above-bare")
	b.ReportMetric(median(difference(bared.cpu, off.cpu))/float64(nodes), "cpu-ns/node-of-bare")
	// The minimum varies least on a busy machine.
	for name, s := range map[string]*side{"by-layer": layer, "of-bare-by-layer": &sides[4]} {
		b.ReportMetric(100*(slices.Min(s.wall)/slices.Min(off.wall)-1), "%-"+name)
		b.ReportMetric(100*(slices.Min(s.cpu)/slices.Min(off.cpu)-1), "cpu-%-"+name)
	}
	check.OK(b, sdk.Shutdown(b.Context()))
}

func difference(a, b []float64) (all []float64) {
	for i := range a {
		all = append(all, a[i]-b[i])
	}
	return all
}

func median(a []float64) float64 {
	a = slices.Sorted(slices.Values(a))
	return a[len(a)/2]
}
