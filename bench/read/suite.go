package read

import (
	"context"
	"slices"

	"github.com/optrace/optrace/bench/internal/data"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
)

// The sides of the suites.
const (
	pdata        = "pdata"
	encodingJSON = "encoding/json"
	sonicJSON    = "sonic"
	ours         = "optrace, one worker"
)

// Suite returns what is compared: a file in the page cache is read to a report
// on all of its operations. Both sides add up with [analyze.Profile], and what
// they report must be the same to the last digit. The cost is the processor
// time of the process per span, garbage collection with the default GOGC
// included.
func Suite() []measure.Measure {
	var headline, others []measure.Measure
	for _, mix := range []workload.Mix{workload.G512, workload.G1, workload.Random} {
		of := func(f workload.Format, s *measure.Suite, name string, target float64, peer, what string) {
			m := measure.Measure{Name: name, Suite: s, Peer: peer, Ours: ours, What: what}
			if mix == workload.G512 {
				m.Target = target
				headline = append(headline, m)
				return
			}
			m.Name += "/" + string(mix)
			m.LongOnly = true
			others = append(others, m)
		}
		json, proto, lines := newSuite(workload.OTLPJSON, mix), newSuite(workload.OTLPProto, mix), newSuite(workload.Entries, mix)
		of(workload.OTLPJSON, json, "read_otlp_json_vs_pdata", 12, pdata, "OTLP JSON Lines, against ptrace.JSONUnmarshaler")
		of(workload.OTLPProto, proto, "read_otlp_proto_vs_pdata", 12, pdata, "OTLP protobuf, against ptrace.ProtoUnmarshaler")
		of(workload.Entries, lines, "read_entries_vs_encoding_json", 20, encodingJSON, "entries JSONL, against encoding/json into structs")
		of(workload.Entries, lines, "read_entries_vs_sonic", 5, sonicJSON, "entries JSONL, against sonic into structs")
	}
	return slices.Concat(headline, workers(), others)
}

func newSuite(f workload.Format, mix workload.Mix) *measure.Suite {
	rounds, ops := 5, 1_000_000
	if mix != workload.G512 {
		rounds, ops = 3, 200_000
	}
	const quickOps = 50_000
	return &measure.Suite{
		Name: "reading " + string(f) + ", " + string(mix), Unit: "span", Rounds: rounds, QuickRounds: 7,
		Open: func(_ context.Context, env *measure.Env, _ measure.Want) (*measure.Opened, error) {
			file, err := data.Get(env, f, workload.Config{Ops: env.Size(ops, quickOps), Mix: mix})
			if err != nil {
				return nil, err
			}
			sides := map[string]measure.Side{ours: reading(file, readOurs)}
			switch f {
			case workload.OTLPJSON:
				sides[pdata] = reading(file, readPdataJSON)
			case workload.OTLPProto:
				sides[pdata] = reading(file, readPdataProto)
			case workload.Entries:
				sides[encodingJSON] = reading(file, readEncodingJSON)
				sides[sonicJSON] = reading(file, readSonic)
			}
			return &measure.Opened{Sides: sides}, nil
		},
	}
}
