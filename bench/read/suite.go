// Package read compares reading files back in this process: from bytes on disk to
// the sums of a report.
package read

import (
	"bufio"
	"context"
	"fmt"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
)

// The sides of the suites.
const (
	pdata        = "pdata"
	encodingJSON = "encoding/json"
	sonicJSON    = "sonic"
	ours         = "optrace, one worker"
	oursTwice    = "optrace, two workers"
)

// The number of operations that are read. Recording takes as long as the quickstart
// example runs, some minutes before a full run and half a minute before a quick one.
const (
	fullOps  = 400_000
	quickOps = 50_000
)

// Suite returns the comparisons: a file in the page cache is read to a report on
// all of its operations. Both sides add up with [profile.Profile], and their
// reports must be the same to the last digit. The cost is the processor time of the
// process per span, garbage collection with the default GOGC included.
func Suite() []measure.Measure {
	suites := map[workload.Format]map[workload.Kind]*measure.Suite{}
	for _, f := range []workload.Format{workload.OTLPJSON, workload.OTLPProto, workload.Entries} {
		suites[f] = map[workload.Kind]*measure.Suite{}
		for _, k := range workload.Kinds() {
			suites[f][k] = newSuite(f, k)
		}
	}
	of := func(f workload.Format, name string, target float64, peer, limit string) measure.Measure {
		m := measure.Measure{Name: name, Target: target, Limit: limit}
		for _, k := range workload.Kinds() {
			m.Cases = append(m.Cases, measure.Case{Data: string(k), Suite: suites[f][k], Peer: peer, Ours: ours})
		}
		return m
	}
	return []measure.Measure{
		of(workload.OTLPJSON, "read_otlp_json_vs_pdata", 8, pdata, limitOTLPJSON),
		of(workload.OTLPProto, "read_otlp_proto_vs_pdata", 7, pdata, limitOTLPProto),
		of(workload.Entries, "read_entries_vs_encoding_json", 14, encodingJSON, limitEntries),
		of(workload.Entries, "read_entries_vs_sonic", 5.5, sonicJSON, limitEntries),
		workers(),
	}
}

// The limits, for the table.
const (
	limitOTLPJSON  = "instructions per byte: a span is a kilobyte of text, most of it keys; the copy out of the page cache is a fifth"
	limitOTLPProto = "instructions per attribute, half of them in shapes; the copy out of the page cache and the sums are a quarter"
	limitEntries   = "instructions per byte; the copy out of the page cache and the sums are a third"
	limitWorkers   = "one worker at a time reads and cuts the file, a tenth to a fifth of the work; memory bandwidth"
)

func newSuite(f workload.Format, k workload.Kind) *measure.Suite {
	return &measure.Suite{
		Name: "reading " + string(f) + ", " + string(k), Unit: "span", Rounds: 5, QuickRounds: 3,
		Open: func(ctx context.Context, env *measure.Env) (*measure.Opened, error) {
			file, err := fileOf(ctx, env, f, k)
			if err != nil {
				return nil, err
			}
			return newSides(f, file), nil
		},
	}
}

func fileOf(ctx context.Context, env *measure.Env, f workload.Format, k workload.Kind) (workload.File, error) {
	return workload.Get(ctx, env, f, workload.Config{Ops: env.Size(fullOps, quickOps), Kind: k})
}

// newSides returns the sides over a file. All must come to the same.
func newSides(f workload.Format, file workload.File) *measure.Opened {
	sides := map[string]measure.Side{ours: timing(file, readOurs)}
	for name, read := range peers[f] {
		sides[name] = timing(file, read)
	}
	return &measure.Opened{Sides: sides}
}

// peers are the other readers of each format.
var peers = map[workload.Format]map[string]reader{
	workload.OTLPJSON:  {pdata: readPdata(bufio.ScanLines, new(ptrace.JSONUnmarshaler).UnmarshalTraces)},
	workload.OTLPProto: {pdata: readPdata(frames, new(ptrace.ProtoUnmarshaler).UnmarshalTraces)},
	workload.Entries:   {encodingJSON: readEncodingJSON, sonicJSON: readSonic},
}

// workers returns the gain of a second worker: the time that passes while a file of
// each format is read, one after the other, and while one large message is.
func workers() measure.Measure {
	m := measure.Measure{Name: "workers_2_vs_1", Target: 1.7, Wall: true, Limit: limitWorkers}
	lines := []workload.Format{workload.OTLPJSON, workload.OTLPProto, workload.Entries}
	for _, k := range workload.Kinds() {
		m.Cases = append(m.Cases, measure.Case{Data: string(k), Suite: workerSuite(k, lines...), Peer: ours, Ours: oursTwice})
	}
	message := workerSuite(workload.G1, workload.OTLPMessage)
	m.Cases = append(m.Cases, measure.Case{Data: "one message", Suite: message, Peer: ours, Ours: oursTwice})
	return m
}

func workerSuite(k workload.Kind, formats ...workload.Format) *measure.Suite {
	return &measure.Suite{
		Name: fmt.Sprintf("workers, %s %v", k, formats), Unit: "span", Rounds: 7, QuickRounds: 3,
		Open: func(ctx context.Context, env *measure.Env) (*measure.Opened, error) {
			var files []workload.File
			for _, f := range formats {
				file, err := fileOf(ctx, env, f, k)
				if err != nil {
					return nil, err
				}
				files = append(files, file)
			}
			return &measure.Opened{Sides: workerSides(files)}, nil
		},
	}
}

func workerSides(files []workload.File) map[string]measure.Side {
	one, two := make([]measure.Side, len(files)), make([]measure.Side, len(files))
	for i, file := range files {
		one[i], two[i] = timing(file, readOurs), timing(file, readOursTwice)
	}
	return map[string]measure.Side{ours: inTurn(one), oursTwice: inTurn(two)}
}
