package findings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/op"
)

// shards returns the steps of an engine on four devices, each step of a request with four layers and a collective
// behind each. The host of the third device pauses before three of the steps, and the second device takes slower times
// as long for the third layer.
func shards(pause int64, slower float64) (records []op.Record) {
	at := 1_000 * ms
	for i := range 60 {
		in := op.TraceID{4, byte(i)}
		id := op.TraceID{5, byte(i)}
		begin := at
		var starts [4]int64
		for d := range starts {
			starts[d] = at + int64(d)*ms/100
			if i%20 == 7 && d == 2 {
				starts[d] += pause
			}
		}
		for layer := range 4 {
			last := int64(0)
			for d := range starts {
				ns := ms + int64((i+d)%3)*ms/100
				if layer == 2 && d == 1 {
					ns = int64(slower * float64(ns))
				}
				work := matmulAt("llm", id, starts[d], ns)
				work.Entry.Path = fmt.Sprint("layers.", layer)
				work.Entry.SpanID = op.SpanID{2, byte(layer), byte(d)}
				work.Entry.DeviceID = fmt.Sprint("cuda:", d)
				records = append(records, work)
				starts[d] += ns
				last = max(last, starts[d])
			}
			for d := range starts {
				shared := matmulAt("llm", id, starts[d], last+ms/10-starts[d])
				e := shared.Entry
				e.Operation = "ncclAllReduce"
				e.Kind = op.KindCollective
				e.Collective = &op.Collective{
					Name: "all_reduce", GroupSize: op.Known(int64(4)), Sequence: op.Known(int64(4*i + layer)),
				}
				e.SpanID = op.SpanID{3, byte(layer), byte(d)}
				e.DeviceID = fmt.Sprint("cuda:", d)
				records = append(records, shared)
				starts[d] = last + ms/10
			}
		}
		at = starts[0]
		link := op.Link{TraceID: in, SpanID: op.SpanID{1}}
		step := spanAt("step", "llm", id, begin, at-begin, link)
		records = append(records, step, spanAt("POST", "llm", in, begin, at-begin))
		at += ms / 10
	}
	return records
}

func TestDevicesOfOneEngine(t *testing.T) {
	for name, c := range map[string]struct {
		records    []op.Record
		rule, says string // "" for no finding with the rule
	}{
		"a host that pauses":         {shards(60*ms, 1), "pauses", "host of a device pauses 3 times for 60.0 ms"},
		"hosts alike":                {shards(0, 1), "pauses", ""},
		"a layer slow on one device": {shards(0, 4), "unlike", "matmul of layers.2 on cuda:1 takes 4.04 ms, 4.00 times"},
		"layers alike":               {shards(60*ms, 1), "unlike", ""},
		"a slow layer, hosts alike":  {shards(0, 4), "pauses", ""},
	} {
		f := only(found(t, c.records...), c.rule)
		if f.Rule != "" && c.says == "" || !strings.Contains(f.Text, c.says) {
			t.Errorf("%s: %s: %q, want %q", name, f.Rule, f.Text, c.says)
		}
	}
}
