package read

import (
	"context"
	"fmt"
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
		of := func(s *measure.Suite, name string, target float64, peer, what string) {
			m := measure.Measure{Name: name, Cases: measure.Compare(s, peer, ours), What: what}
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
		of(json, "read_otlp_json_vs_pdata", 12, pdata, "OTLP JSON Lines, against ptrace.JSONUnmarshaler")
		of(proto, "read_otlp_proto_vs_pdata", 12, pdata, "OTLP protobuf, against ptrace.ProtoUnmarshaler")
		of(lines, "read_entries_vs_encoding_json", 20, encodingJSON, "entries JSONL, against encoding/json into structs")
		of(lines, "read_entries_vs_sonic", 5, sonicJSON, "entries JSONL, against sonic into structs")
	}
	return slices.Concat(headline, workers(), others)
}

// quickOps and quickPeerOps are how many operations a quick run reads. Peers,
// which cost the same per span from the first one on, read fewer; ours learns
// what spans look like as it goes, and reads as many as it takes for that not to
// be most of its work.
const (
	quickOps     = 400_000
	quickPeerOps = 40_000
)

func newSuite(f workload.Format, mix workload.Mix) *measure.Suite {
	rounds, ops := 5, 1_000_000
	if mix != workload.G512 {
		rounds, ops = 3, 400_000
	}
	return &measure.Suite{
		Name: "reading " + string(f) + ", " + string(mix), Unit: "span", Rounds: rounds, QuickRounds: 5,
		Open: func(_ context.Context, env *measure.Env, _ measure.Want) (*measure.Opened, error) {
			c := workload.Config{Ops: env.Size(ops, quickOps), Mix: mix}
			file, err := data.Get(env, f, c)
			if err != nil {
				return nil, err
			}
			peerFile := file
			if env.Quick {
				c.Ops = quickPeerOps
				if peerFile, err = data.Get(env, f, c); err != nil {
					return nil, err
				}
			}
			return newSides(f, file, peerFile), nil
		},
	}
}

// newSides returns the sides: ours over a file, and the peers over another one
// that may be shorter. Over that one, all must come to the same.
func newSides(f workload.Format, file, peerFile data.File) *measure.Opened {
	digests := map[string]string{}
	sides := map[string]measure.Side{ours: timing(file, readOurs, new(string))}
	for name, read := range peers[f] {
		sum := new(string)
		side := timing(peerFile, read, sum)
		sides[name] = func(ctx context.Context) (measure.Sample, error) {
			s, err := side(ctx)
			digests[name] = *sum
			return s, err
		}
	}
	return &measure.Opened{Sides: sides, Check: func() error {
		var want string
		if _, err := timing(peerFile, readOurs, &want)(context.Background()); err != nil {
			return err
		}
		for name, got := range digests {
			if got != want {
				return fmt.Errorf("%s comes to %s, optrace to %s", name, got, want)
			}
		}
		return nil
	}}
}

// peers are the other readers of each format.
var peers = map[workload.Format]map[string]reader{
	workload.OTLPJSON:  {pdata: readPdataJSON},
	workload.OTLPProto: {pdata: readPdataProto},
	workload.Entries:   {encodingJSON: readEncodingJSON, sonicJSON: readSonic},
}
