// Package read compares readers in this process: from bytes on disk to the sums of a report.
package read

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/bytedance/sonic"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
	"github.com/optrace/optrace/ingest"
)

// The sides of the suites.
const (
	pdata        = "pdata"
	encodingJSON = "encoding/json"
	sonicJSON    = "sonic"
	ours         = "optrace, one worker"
	oursTwice    = "optrace, two workers"
)

// The number of operations in a file. Recording them takes some minutes before a full run and half a
// minute before a quick one.
const (
	fullOps  = 400_000
	quickOps = 50_000
)

// The limits, for the table.
const (
	limitOTLPJSON = "instructions per byte: a span is a kilobyte of text, most of it keys; " +
		"the copy out of the page cache is a fifth"
	limitOTLPProto = "instructions per attribute, half of them in shapes; " +
		"the copy out of the page cache and the sums are a quarter"
	limitEntries = "instructions per byte; the copy out of the page cache and the sums are a third"
	limitWorkers = "one worker at a time reads and cuts the file, a tenth to a fifth of the work; memory bandwidth"
)

// Suite returns the comparisons. Each side reads a file in the page cache to a report on all of its
// operations. All sides add up with [profile.Profile], and their reports must be identical. The cost
// is the processor time of the process per span, garbage collection included.
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

// reader reads a file to a report.
type reader func(path string) (*analyze.Report, error)

var readers = map[workload.Format]map[string]reader{
	workload.OTLPJSON: {
		ours: readWith(1), pdata: readPdata(bufio.ScanLines, new(ptrace.JSONUnmarshaler).UnmarshalTraces),
	},
	workload.OTLPProto: {
		ours: readWith(1), pdata: readPdata(workload.Frames, func(frame []byte) (ptrace.Traces, error) {
			return new(ptrace.ProtoUnmarshaler).UnmarshalTraces(frame[4:])
		}),
	},
	workload.Entries: {
		ours: readWith(1), encodingJSON: readLines(json.Unmarshal), sonicJSON: readLines(sonic.ConfigFastest.Unmarshal),
	},
}

// workers returns the gain of a second worker, in elapsed time: for a file of each format, one after
// the other, and for one large message.
func workers() measure.Measure {
	sides := map[string]reader{ours: readWith(1), oursTwice: readWith(2)}
	files := over("workers", 7, workload.Kinds(), sides, workload.OTLPJSON, workload.OTLPProto, workload.Entries)(ours,
		oursTwice)
	message := over("workers, one message", 7, []workload.Kind{workload.G1}, sides, workload.OTLPMessage)(ours,
		oursTwice)
	message[0].Data = "one message"
	return measure.Measure{
		Name: "workers_2_vs_1", Target: 1.7, Wall: true, Limit: limitWorkers, Cases: append(files, message...),
	}
}

// over makes a suite for each kind of data. Its sides read a file in each of the formats.
func over(
	name string, rounds int, kinds []workload.Kind, sides map[string]reader, formats ...workload.Format,
) func(peer, ours string) []measure.Case {
	s := measure.Suite{Name: name, Unit: "span", Rounds: rounds, QuickRounds: 3}
	return measure.Over(s, kinds,
		func(ctx context.Context, env *measure.Env, k workload.Kind) (*measure.Opened, error) {
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

// timing returns a side that reads files one after the other. Its sum is a digest of the reports.
func timing(files []workload.File, read reader) measure.Side {
	return func(context.Context) (total measure.Sample, err error) {
		for _, file := range files {
			var rep *analyze.Report
			s, err := measure.Timed(file.Spans, func() (err error) {
				rep, err = read(file.Path)
				return err
			})
			if err != nil {
				return s, fmt.Errorf("reading %s: %w", file.Path, err)
			}
			if rep.Total.Count != file.Ops || rep.Total.SumNS != file.SumNS {
				return s, fmt.Errorf("reading %s: %d operations of %d ns, want %d of %d ns",
					file.Path, rep.Total.Count, rep.Total.SumNS, file.Ops, file.SumNS)
			}
			figures := *rep
			figures.Input = analyze.Envelope{} // describes the file
			text, err := json.Marshal(&figures)
			if err != nil {
				return s, err
			}
			total.N += s.N
			total.CPU += s.CPU
			total.Wall += s.Wall
			total.Sum += fmt.Sprintf("%d operations, %d ns, report %08x; ", file.Ops, file.SumNS,
				crc32.ChecksumIEEE(text))
		}
		return total, nil
	}
}

// readWith reads as the command optrace does on a machine with so many cores.
func readWith(workers int) reader {
	return func(path string) (*analyze.Report, error) {
		return analyze.Run(context.Background(), ingest.Open(path), analyze.Options{SumsOnly: true, Workers: workers})
	}
}

// newProfile returns a Profile like ours, for the peers.
func newProfile() *profile.Profile { return profile.New(profile.Options{}) }
