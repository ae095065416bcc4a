package otlpprofiles_test

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/otlpprofiles"
)

func TestProducers(t *testing.T) {
	resource := func(attrs ...op.Attr) *op.Resource {
		r := new(op.Resource)
		for _, a := range attrs {
			opmodel.SetResourceAttr(r, new(opmodel.AttrIndex), a)
		}
		return r
	}
	text := func(key, value string) op.Attr { return op.Attr{Key: key, Value: value} }
	number := func(key, value string) op.Attr { return op.Attr{Key: key, Value: value, Type: op.AttrInt} }
	a := resource(text("service.name", "trainer"), text("host.name", "n1"), number("tensor.rank", "0"),
		number("tensor.world_size", "2"), text("process.pid", "7"))
	b := resource(text("service.name", "trainer"), text("host.name", "n1"), number("tensor.rank", "1"),
		number("tensor.world_size", "2"), number("process.pid", "7"))
	entry := func(r *op.Resource) op.Record {
		return op.Record{Entry: &op.Entry{Service: r.Service, Host: r.Host, Rank: r.Rank, DeviceID: "cuda:0"}}
	}
	rank1 := stacks.Producer{Service: "trainer", Rank: op.Known(1)}
	other := resource(text("service.name", "trainer"), text("host.name", "n2"), number("tensor.rank", "1"),
		number("tensor.world_size", "2"))
	attributes := make(map[string][]string)
	for name, test := range map[string]struct {
		records []op.Record
		who     stacks.Producer
	}{
		"none":     {nil, rank1},
		"no entry": {[]op.Record{{Resource: b}}, rank1},
		"one":      {[]op.Record{{Resource: b}, entry(b), entry(b)}, rank1},
		"two":      {[]op.Record{{Resource: a}, entry(a), {Resource: b}, entry(b), {Resource: a}, entry(a)}, rank1},
		"one that is not known": {[]op.Record{{Resource: a}, entry(a), {Resource: b}, entry(b)},
			stacks.Producer{}},
		"one without operations": {[]op.Record{{Resource: a}, {Resource: b}, entry(b)}, rank1},
		"two resources of one":   {[]op.Record{{Resource: b}, entry(b), {Resource: other}, entry(other)}, rank1},
		"entries alone":          {[]op.Record{entry(a), entry(b)}, rank1},
		"hosts": {[]op.Record{entry(&op.Resource{Host: "n1"}), entry(&op.Resource{Host: "n2"})},
			stacks.Producer{Host: "n2"}},
	} {
		var p otlpprofiles.Producers
		for _, rec := range test.records {
			if rec.Resource != nil {
				p.Resource(rec.Resource)
			} else {
				p.Operation(rec.Entry)
			}
		}
		var texts []string
		for _, a := range p.Of(test.who) {
			texts = append(texts, fmt.Sprintf("%s=%q type %d", a.Key, a.Value, a.Type))
		}
		attributes[name] = texts
	}
	golden.JSON(t, "testdata/producers.json", attributes)
}
