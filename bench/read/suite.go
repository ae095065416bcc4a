// Package read compares reading files back in this process: from bytes on disk to
// the sums of a report.
package read

import (
	"bufio"
	"context"
	"encoding/json"

	"github.com/bytedance/sonic"
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
	cases := map[workload.Format]func(peer, ours string) []measure.Case{}
	for f, sides := range readers {
		cases[f] = over("reading "+string(f), 5, workload.Kinds(), sides, f)
	}
	of := func(f workload.Format, name string, target float64, peer, limit string) measure.Measure {
		return measure.Measure{Name: name, Target: target, Limit: limit, Cases: cases[f](peer, ours)}
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

// over makes suites of readers of files of each kind, one in each of the formats. All must come to the same.
func over(
	name string, rounds int, kinds []workload.Kind, sides map[string]reader, formats ...workload.Format,
) func(peer, ours string) []measure.Case {
	s := measure.Suite{Name: name, Unit: "span", Rounds: rounds, QuickRounds: 3}
	return measure.Over(s, kinds, func(ctx context.Context, env *measure.Env, k workload.Kind) (*measure.Opened, error) {
		var files []workload.File
		for _, f := range formats {
			file, err := workload.Get(ctx, env, f, workload.Config{Ops: env.Size(fullOps, quickOps), Kind: k})
			if err != nil {
				return nil, err
			}
			files = append(files, file)
		}
		open := &measure.Opened{Sides: map[string]measure.Side{}}
		for name, read := range sides {
			open.Sides[name] = timing(files, read)
		}
		return open, nil
	})
}

var readers = map[workload.Format]map[string]reader{
	workload.OTLPJSON: {
		ours: readWith(1), pdata: readPdata(bufio.ScanLines, new(ptrace.JSONUnmarshaler).UnmarshalTraces),
	},
	workload.OTLPProto: {ours: readWith(1), pdata: readPdata(frames, new(ptrace.ProtoUnmarshaler).UnmarshalTraces)},
	workload.Entries:   {ours: readWith(1), encodingJSON: readLines(json.Unmarshal), sonicJSON: readLines(sonic.ConfigFastest.Unmarshal)},
}

// workers returns the gain of a second worker: the time that passes while a file of
// each format is read, one after the other, and while one large message is.
func workers() measure.Measure {
	sides := map[string]reader{ours: readWith(1), oursTwice: readWith(2)}
	files := over("workers", 7, workload.Kinds(), sides, workload.OTLPJSON, workload.OTLPProto, workload.Entries)(ours, oursTwice)
	message := over("workers, one message", 7, []workload.Kind{workload.G1}, sides, workload.OTLPMessage)(ours, oursTwice)
	message[0].Data = "one message"
	return measure.Measure{Name: "workers_2_vs_1", Target: 1.7, Wall: true, Limit: limitWorkers, Cases: append(files, message...)}
}
