// Package workload makes the files for the comparisons of this module: tensor operations of training
// steps, below the spans of layers and steps.
//
// Three kinds of data are simulated: a graph of 2,000 operations of 40 kinds in 100 layers runs
// repeatedly on each of 8 devices. The same [Config] gives the same spans. They pass through
// OpenTelemetry's SDK. The fourth kind is recorded from the quickstart example, which trains a network.
package workload

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"go.opentelemetry.io/collector/pdata/ptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/ingest"
)

// version is part of the names of cached files. It changes when a Config gives other files.
const version = 4

// Kind is a kind of data: how the operations of the devices alternate and how often they repeat.
type Kind string

// The kinds.
const (
	// G512 runs the graph in a process per device, like the ranks of a job: 512 spans of one
	// process, then 512 of the next.
	G512 Kind = "g512"
	// G1 runs the graph in one process that drives all devices. The device changes at random from span to span.
	G1 Kind = "g1"
	// Random runs operations with random shapes on random devices in one process, so that
	// attributes hardly ever repeat.
	Random Kind = "random"
	// Recorded holds the operations of the quickstart example: few distinct ones, on devices that
	// really run at the same time.
	Recorded Kind = "recorded"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{G512, G1, Random, Recorded} }

// Format is a file format.
type Format string

// The formats.
const (
	// Entries is optrace's entries JSON Lines.
	Entries Format = "entries"
	// OTLPJSON has a TracesData object per line, as the Collector writes it.
	OTLPJSON Format = "otlp-json"
	// OTLPProto has TracesData messages as the Collector writes them, each after its length in four
	// bytes, big-endian.
	OTLPProto Format = "otlp-proto"
	// OTLPMessage is one TracesData message in protobuf.
	OTLPMessage Format = "otlp-message"
)

// Config selects spans.
type Config struct {
	Kind Kind
	// Ops counts the operations, approximately for Recorded. The spans of layers and steps, about
	// one for twenty operations, come on top.
	Ops int
	// Seed selects other spans of the same simulated kind.
	Seed uint64
}

func (c Config) processes() int {
	if c.Kind == G512 {
		return numDevices
	}
	return 1
}

// File is a file in the cache, with the totals of its spans.
type File struct {
	Path string
	// Ops and Spans count the operations and all spans.
	Ops, Spans int64
	SumNS      int64 // the sum of the durations of the operations in nanoseconds
}

// Get returns the file of a configuration and format, and makes it if the cache has none. It reads
// the whole file, so that the page cache has it.
func Get(ctx context.Context, env *measure.Env, f Format, c Config) (File, error) {
	name := fmt.Sprintf("%s-v%d-%s-%s-%d-%d", f, version, optrace.Version, c.Kind, c.Ops, c.Seed)
	path, err := env.Prepared(name, func(path string) error {
		env.Log("preparing %d operations, %s, as %s", c.Ops, c.Kind, f)
		return write(ctx, env, path, f, c)
	})
	if err != nil {
		return File{}, err
	}
	file := File{Path: path}
	for rec, err := range ingest.Open(path).Records() {
		switch {
		case err != nil:
			return file, err
		case rec.Entry != nil:
			file.Ops++
			file.Spans++
			file.SumNS += rec.Entry.Duration
		case rec.Span != nil:
			file.Spans++
		}
	}
	if c.Kind != Recorded && file.Ops != int64(c.Ops) {
		return file, fmt.Errorf("%s holds %d operations", path, file.Ops)
	}
	return file, nil
}

// write makes a file: entries by a Processor and an Exporter, and OTLP by an Exporter and the
// Collector's marshallers.
func write(ctx context.Context, env *measure.Env, path string, f Format, c Config) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(out, 1<<20)
	defer func() { err = errors.Join(err, buffered.Flush(), out.Close()) }()
	format := optrace.FormatOTLPProto
	var to io.Writer = &collector{buffered, f}
	if f == Entries {
		format = optrace.FormatEntries
		to = buffered
	}
	if c.Kind == Recorded {
		return writeRecorded(ctx, env, to, format, c.Ops)
	}
	return record(c, func() (sdktrace.SpanProcessor, error) {
		exp, err := optrace.NewExporter(to, optrace.WithFormat(format))
		if err != nil {
			return nil, err
		}
		if format == optrace.FormatEntries {
			return optrace.NewProcessor(exp, optrace.WithPolicy(optrace.PolicyBlock))
		}
		return sdktrace.NewBatchSpanProcessor(exp, sdktrace.WithBlocking(), sdktrace.WithMaxExportBatchSize(batchSize)),
			nil
	})
}

// opsPerQuickstartStep counts the operations of a step of the quickstart example on four devices.
const opsPerQuickstartStep = 112

// writeRecorded writes the operations that the quickstart example records.
func writeRecorded(ctx context.Context, env *measure.Env, to io.Writer, format optrace.Format, ops int) error {
	program, err := env.Program(ctx, "examples/quickstart")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(env.Cache, ".quickstart-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	steps := strconv.Itoa(max(1, ops/opsPerQuickstartStep))
	cmd := exec.CommandContext(ctx, program, "-steps", steps, "-devices", "4", "-o", dir)
	cmd.Env = append(os.Environ(), "OPTRACE_FORMAT="+format.String())
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running the quickstart example: %w: %s", err, said)
	}
	recorded, err := os.Open(filepath.Join(dir, "ops.jsonl"))
	if err != nil {
		return err
	}
	defer func() { _ = recorded.Close() }()
	if format == optrace.FormatEntries {
		_, err = io.Copy(to, recorded)
		return err
	}
	frames := bufio.NewScanner(recorded)
	frames.Buffer(nil, maxFrame)
	frames.Split(Frames)
	for frames.Scan() {
		if _, err := to.Write(frames.Bytes()); err != nil {
			return err
		}
	}
	return frames.Err()
}

const (
	maxFrame  = 1 << 28
	frameHead = 4
)

// Frames is a [bufio.SplitFunc] for OTLPProto. Its tokens include the length.
func Frames(data []byte, atEOF bool) (advance int, frame []byte, err error) {
	if len(data) >= frameHead {
		if n := frameHead + int(binary.BigEndian.Uint32(data)); n <= len(data) {
			return n, data[:n], nil
		}
	}
	if atEOF && len(data) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return 0, nil, err
}

// collector writes OTLP as the Collector's file exporter does.
type collector struct {
	w      io.Writer
	format Format
}

// Write takes a frame of OTLPProto.
func (c *collector) Write(frame []byte) (int, error) {
	td, err := new(ptrace.ProtoUnmarshaler).UnmarshalTraces(frame[frameHead:])
	if err != nil {
		return 0, err
	}
	var text []byte
	if c.format == OTLPJSON {
		text, err = new(ptrace.JSONMarshaler).MarshalTraces(td)
		text = append(text, '\n')
	} else {
		text, err = new(ptrace.ProtoMarshaler).MarshalTraces(td)
	}
	if err == nil && c.format == OTLPProto { // concatenated messages without their lengths are one message
		_, err = c.w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(text))))
	}
	if err == nil {
		_, err = c.w.Write(text)
	}
	return len(frame), err
}
