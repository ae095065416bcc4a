package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// program is a run of a program of this command. It does real work on the CPU and records it. Its flags are sizes, and
// ways to do the work.
type program struct {
	file   string
	args   []string
	flags  map[string]int
	device string
	tracer *optrace.Tracer
	spans  trace.Tracer
}

// runProgram runs a program with flags NAME=N, and records it into a file.
func runProgram(name, file string, args []string) (err error) {
	p := &program{file: file, args: args, flags: make(map[string]int)}
	for _, arg := range args {
		key, number, _ := strings.Cut(arg, "=")
		if p.flags[key], err = strconv.Atoi(number); err != nil {
			return err
		}
	}
	run, ok := map[string]func() error{"train": p.train, "device": p.behind, "ranks": p.ranks}[name]
	if !ok {
		return fmt.Errorf("no program %q", name)
	}
	p.device = fmt.Sprint("cpu:", p.flags["rank"])
	sdk, err := optrace.Setup(file, optrace.WithResourceAttributes(
		semconv.ServiceName(name), tensorconv.Rank(int64(p.flags["rank"]))))
	if err != nil {
		return err
	}
	p.tracer = sdk.Tracer()
	p.spans = sdk.TracerProvider().Tracer(name)
	return errors.Join(run(), sdk.Shutdown(context.Background()))
}

// steps runs the steps of a loop, each below a span.
func (p *program) steps(step func(ctx context.Context, n int) error) error {
	for n := range p.flags["steps"] {
		ctx, span := p.spans.Start(optrace.ContextWithStep(context.Background(), int64(n)), "train.step")
		if err := step(ctx, n); err != nil {
			return err
		}
		span.End()
	}
	return nil
}

// op runs and records work on n numbers.
func (p *program) op(ctx context.Context, name, device string, n int, work func()) {
	_, o := p.tracer.Start(ctx, name, device)
	work()
	o.In(int64(n)).Out(int64(n)).DType(op.F32)
	if device == "host" {
		o.Attrs(tensorconv.OpSideHost).End()
	} else {
		o.Stream(0).End()
	}
}

const width = 160 // of a matrix

// numbers are a product and its factors.
type numbers [3][width * width]float32

// multiply computes rows of the product.
func (m *numbers) multiply(rows int) {
	for i := range rows {
		c := m[0][i%width*width:][:width]
		clear(c)
		for k, a := range m[1][i%width*width:][:width] {
			for j, b := range m[2][k*width:][:width] {
				c[j] += a * b
			}
		}
	}
}

// affine multiplies and adds.
func affine(x []float32, factor, summand float32) {
	for i, v := range x {
		x[i] = factor*v + summand
	}
}

// gelu approximates GELU, after a factor and a summand.
func gelu(x []float32, factor, summand float32) {
	for i, v := range x {
		v = factor*v + summand
		x[i] = v / (1 + float32(math.Exp(-1.7*float64(v))))
	}
}

// scan is a recurrence. Each step waits for the one before, so that it hardly slows down work on another processor.
func scan(x []float32, times int) {
	h := float32(0)
	for range times {
		for _, v := range x {
			h = 0.9*h + v
		}
	}
	x[0] = h
}

// parse is work of a host that records nothing: documents, written and read again.
func parse(n int) {
	words := make([]int, 200)
	for range n {
		text, _ := json.Marshal(words)
		_ = json.Unmarshal(text, &words) // just written
	}
}

// read reads and decodes a file n times.
func read(file string, n int) error {
	for range n {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var x []float32
		if err := json.Unmarshal(text, &x); err != nil {
			return err
		}
	}
	return nil
}

// train is a loop on one device. It reads input, in advance with ahead=1, and computes layers. Tables are made on first
// use, or before with warm=1.
func (p *program) train() error {
	f := p.flags
	file := filepath.Join(filepath.Dir(p.file), "input")
	text, _ := json.Marshal(make([]float32, 16<<10))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	ready := make(chan error, 1)
	fetch := func() { ready <- read(file, f["files"]) }
	if f["ahead"] > 0 {
		go fetch()
	}
	var m numbers
	heap := make([]*int, f["heap"]) // for the garbage collector
	for i := range heap {
		heap[i] = new(int)
	}
	tables := func() { m.multiply(f["tables"]) }
	if f["warm"] > 0 {
		tables()
		tables = func() {}
	}
	err := p.steps(func(ctx context.Context, n int) (err error) {
		if f["files"] > 0 {
			p.op(ctx, "DataLoader.next_batch", "host", 1, func() {
				go fetch()
				err = <-ready
			})
		}
		for layer := range f["layers"] {
			p.op(ctx, "matmul", p.device, len(m[0]), func() {
				if n+layer == 0 {
					tables()
				}
				m.multiply(f["rows"])
			})
			if f["scan"] > 0 {
				p.op(ctx, "scan", p.device, len(m[0]), func() { scan(m[0][:], f["scan"]) })
			}
			if f["gelu"] > 0 {
				p.op(ctx, "gelu", p.device, len(m[0]), func() { gelu(m[0][:], 1, 0) })
			}
		}
		parse(f["parse"])
		if f["collect"] > 0 && n%f["collect"] == 1 {
			runtime.GC()
		}
		return err
	})
	runtime.KeepAlive(heap)
	return err
}

// behind has a device with two streams that runs behind the host: a copy, then launches of three operations or a fused
// one. The host waits for the device after each with sync=1, at the end with free=1, else after each step.
func (p *program) behind() error {
	f := p.flags
	var streams [2]chan func()
	var ended [2][]func() // record what has run
	var running sync.WaitGroup
	for i := range streams {
		streams[i] = make(chan func(), 1<<16)
		running.Go(func() {
			for work := range streams[i] {
				work()
			}
		})
	}
	x := make([]float32, f["elements"])
	launch := func(ctx context.Context, name string, stream int, work func()) {
		kind := op.KindCompute
		if stream == f["own"] && name == copyIn {
			kind = op.KindMemory
		}
		o, _ := p.tracer.Prepare(optrace.OpSpec{Name: name, Device: p.device, Kind: kind, DType: op.F32,
			Stream: op.Known(int64(stream)), Inputs: []op.Shape{{int64(len(x))}}, Output: op.Shape{int64(len(x))}})
		parse(f["parse"]) // what a host does to launch
		launched := time.Now().UnixNano()
		streams[stream] <- func() {
			start := time.Now().UnixNano()
			work()
			times := optrace.Times{Launch: launched, Start: start, End: time.Now().UnixNano()}
			ended[stream] = append(ended[stream], func() { o.Record(ctx, times) })
		}
	}
	wait := func(ctx context.Context) {
		p.op(ctx, "deviceSynchronize", "host", 1, func() {
			done := make(chan bool)
			streams[0] <- func() { close(done) }
			<-done
		})
	}
	input := make([]float32, f["copied"])
	copies := [2][]float32{slices.Clone(input), slices.Clone(input)}
	err := p.steps(func(ctx context.Context, n int) error {
		if f["copied"] > 0 {
			copied := make(chan bool)
			launch(ctx, copyIn, f["own"], func() {
				for range 8 {
					copy(copies[n%2], input)
				}
				close(copied)
			})
			streams[0] <- func() { <-copied }
		}
		for range f["launches"] {
			if f["fused"] > 0 {
				launch(ctx, "fused", 0, func() { gelu(x, 0.9, 0.1) })
			} else {
				launch(ctx, "scale", 0, func() { affine(x, 0.9, 0) })
				launch(ctx, "add", 0, func() { affine(x, 1, 0.1) })
				launch(ctx, "gelu", 0, func() { gelu(x, 1, 0) })
			}
			if f["sync"] > 0 {
				wait(ctx)
			}
		}
		if f["free"] == 0 || n == f["steps"]-1 {
			wait(ctx)
		}
		return nil
	})
	for i := range streams {
		close(streams[i])
	}
	running.Wait()
	for _, record := range slices.Concat(ended[0], ended[1]) {
		record()
	}
	return err
}

const copyIn = "Memcpy HtoD"

// peer connects the two ranks. Rank 0 starts rank 1, and wait waits for its end.
func (p *program) peer() (conn net.Conn, wait func() error, err error) {
	if p.flags["rank"] == 1 {
		conn, err = net.Dial("tcp", fmt.Sprint("127.0.0.1:", p.flags["port"]))
		return conn, func() error { return nil }, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = listener.Close() }()
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	args := append([]string{"-program", "ranks", "-o", p.file + ".1.jsonl"}, p.args...)
	other := exec.Command(self, append(args, "rank=1", fmt.Sprint("port=", listener.Addr().(*net.TCPAddr).Port))...)
	if err := other.Start(); err != nil {
		return nil, nil, err
	}
	conn, err = listener.Accept()
	return conn, other.Wait, err
}

// ranks are two processes. They compute layers and add up the gradients of each, over a link of rate MiB/s, and with
// overlap=1 while the next layer computes.
func (p *program) ranks() error {
	f := p.flags
	conn, wait, err := p.peer()
	if err != nil {
		return err
	}
	var m numbers
	own := make([]byte, f["bytes"])
	other := make([]byte, f["bytes"])
	sequence := int64(0)
	failed := make(chan error, 1)
	reduce := func(ctx context.Context) {
		_, o := p.tracer.Start(ctx, "all_reduce", p.device)
		sent := make(chan error, 1)
		go func() {
			_, err := conn.Write(own)
			sent <- err
		}()
		_, err := io.ReadFull(conn, other)
		if f["rate"] > 0 {
			time.Sleep(time.Duration(len(own)) * time.Second / time.Duration(f["rate"]<<20)) // the link
		}
		if err := errors.Join(err, <-sent); err != nil && len(failed) == 0 {
			failed <- err
		}
		for i, b := range other {
			own[i] += b
		}
		sequence++
		o.Attrs(tensorconv.CollectiveName("all_reduce"), tensorconv.CollectiveGroupName("data"),
			tensorconv.CollectiveGroupSize(2), tensorconv.CollectiveSequence(sequence)).Kind(op.KindCollective).
			In(int64(len(own))).Out(int64(len(own))).DType(op.U8).Stream(int64(f["overlap"])).End()
	}
	err = p.steps(func(ctx context.Context, _ int) error {
		layers := make(chan bool, f["layers"])
		var reducing sync.WaitGroup
		reducing.Go(func() {
			for range layers {
				reduce(ctx)
			}
		})
		for range f["layers"] {
			p.op(ctx, "scan", p.device, len(m[0]), func() { scan(m[0][:], 20*f[fmt.Sprint("work", f["rank"])]) })
			if f["overlap"] > 0 {
				layers <- true
			} else {
				reduce(ctx)
			}
		}
		close(layers)
		reducing.Wait()
		p.op(ctx, "update", p.device, len(m[0]), func() { gelu(m[0][:], 1, 0) })
		return nil
	})
	close(failed)
	return errors.Join(err, <-failed, conn.Close(), wait())
}
