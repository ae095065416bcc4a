package otlpprofiles_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/otlpprofiles"
)

func TestProducers(t *testing.T) {
	resource := func(attrs ...op.Attr) *op.Resource {
		r := new(op.Resource)
		for _, a := range attrs {
			r.SetAttr(a)
		}
		return r
	}
	text := func(key, value string) op.Attr { return op.Attr{Key: key, Value: value} }
	number := func(key, value string) op.Attr { return op.Attr{Key: key, Value: value, Type: op.AttrInt} }
	a := resource(text("service.name", "trainer"), text("host.name", "n1"), number("tensor.rank", "0"), number("tensor.world_size", "2"),
		text("process.pid", "7"))
	b := resource(text("service.name", "trainer"), text("host.name", "n1"), number("tensor.rank", "1"), number("tensor.world_size", "2"),
		number("process.pid", "7"))
	entry := func(r *op.Resource) op.Record {
		return op.Record{Entry: &op.Entry{Service: r.Service, Host: r.Host, Rank: r.Rank, DeviceID: "cuda:0"}}
	}
	rank1 := stacks.Producer{Service: "trainer", Rank: op.Known(1)}
	other := resource(text("service.name", "trainer"), text("host.name", "n2"), number("tensor.rank", "1"), number("tensor.world_size", "2"))
	whole := []op.Attr{
		text("host.name", "n1"), number("process.pid", "7"), text("service.name", "trainer"), number("tensor.rank", "1"),
		number("tensor.world_size", "2"),
	}
	for name, test := range map[string]struct {
		records []op.Record
		who     stacks.Producer
		want    []op.Attr
	}{
		"none":     {nil, rank1, nil},
		"no entry": {[]op.Record{{Resource: b}}, rank1, nil},
		"one":      {[]op.Record{{Resource: b}, entry(b), entry(b)}, rank1, whole},
		"two":      {[]op.Record{{Resource: a}, entry(a), {Resource: b}, entry(b), {Resource: a}, entry(a)}, rank1, whole},
		"one that is not known": {[]op.Record{{Resource: a}, entry(a), {Resource: b}, entry(b)}, stacks.Producer{}, []op.Attr{
			text("host.name", "n1"), text("service.name", "trainer"), number("tensor.world_size", "2"),
		}},
		"one without operations": {[]op.Record{{Resource: a}, {Resource: b}, entry(b)}, rank1, whole},
		"two resources of one": {[]op.Record{{Resource: b}, entry(b), {Resource: other}, entry(other)}, rank1, []op.Attr{
			text("service.name", "trainer"), number("tensor.rank", "1"), number("tensor.world_size", "2"),
		}},
		"entries alone": {[]op.Record{entry(a), entry(b)}, rank1, []op.Attr{
			text("host.name", "n1"), text("service.name", "trainer"), number("tensor.rank", "1"),
		}},
		"hosts": {[]op.Record{entry(&op.Resource{Host: "n1"}), entry(&op.Resource{Host: "n2"})}, stacks.Producer{Host: "n2"}, []op.Attr{
			text("host.name", "n2"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var p otlpprofiles.Producers
			for _, rec := range test.records {
				if rec.Resource != nil {
					p.Resource(rec.Resource)
				} else {
					p.Operation(rec.Entry)
				}
			}
			if diff := cmp.Diff(test.want, p.Of(test.who)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Attributes of a resource keep their types.
func TestResourceValues(t *testing.T) {
	attrs := []op.Attr{
		{Key: "text", Value: "a\nb\xff"}, {Key: "empty"}, {Key: "int", Value: "-7", Type: op.AttrInt},
		{Key: "no int", Value: "many", Type: op.AttrInt}, {Key: "float", Value: "2.5", Type: op.AttrFloat},
		{Key: "nan", Value: "NaN", Type: op.AttrFloat}, {Key: "inf", Value: "-Inf", Type: op.AttrFloat},
		{Key: "plus inf", Value: "+Inf", Type: op.AttrFloat}, {Key: "bool", Value: "true", Type: op.AttrBool},
		{Key: "bytes", Value: "AAE=", Type: op.AttrBytes},
		{Key: "json", Value: `["<a>",1,1.5,null,true,{"b":[],"a":{"bytesValue":"AAE="},"c":{"doubleValue":"NaN"}}]`, Type: op.AttrJSON},
		{Key: "no json", Value: `[`, Type: op.AttrJSON},
	}
	p := written(t, stacks.NewTable(stacks.Limits{}), otlpprofiles.Options{Producers: producers(&op.Resource{Attrs: attrs})})
	got := make(map[string]string)
	for key, v := range p.ResourceProfiles().At(0).Resource().Attributes().All() {
		got[key] = v.Type().String() + " " + v.AsString()
	}
	want := map[string]string{
		"text": "Str a b\uFFFD", "empty": "Str ", "int": "Int -7", "no int": "Str many", "float": "Double 2.5", "nan": "Double NaN",
		"inf": "Double -Infinity", "plus inf": "Double Infinity", "bool": "Bool true", "bytes": "Bytes AAE=", "no json": "Str [",
	}
	list, _ := p.ResourceProfiles().At(0).Resource().Attributes().Get("json")
	delete(got, "json") // pdata cannot show a number in it that JSON does not have
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	inner, _ := list.Slice().At(5).Map().Get("a")
	if list.Slice().Len() != 6 || list.Slice().At(0).Str() != "<a>" || list.Slice().At(1).Int() != 1 || len(inner.Bytes().AsRaw()) != 2 {
		t.Errorf("a list is read as %v", list.Slice().AsRaw())
	}
}

// The profiles of each producer have its resource.
func TestProfilesOfProducers(t *testing.T) {
	f := trace.New()
	var resources []*op.Resource
	for i := range int64(3) {
		r := &op.Resource{Service: "trainer", Rank: op.Known(i), Attrs: []op.Attr{{Key: "process.pid", Value: fmt.Sprint(100 + i)}}}
		resources = append(resources, r)
		for k := range i + 1 {
			f.Add(op.Record{Entry: &op.Entry{
				Operation: "matmul", DeviceID: "cuda:0", Service: r.Service, Rank: r.Rank, Duration: 10, SpanID: op.SpanID{6: byte(i), 7: byte(k + 1)},
			}})
		}
	}
	p := written(t, stacks.Of(f), otlpprofiles.Options{Producers: producers(resources...)})
	if p.ResourceProfiles().Len() != 3 {
		t.Fatalf("profiles of %d resources", p.ResourceProfiles().Len())
	}
	for i, of := range p.ResourceProfiles().All() {
		want := map[string]any{"service.name": "trainer", "tensor.rank": int64(i), "process.pid": fmt.Sprint(100 + i)}
		if diff := cmp.Diff(want, of.Resource().Attributes().AsRaw()); diff != "" {
			t.Errorf("resource %d (-want +got):\n%s", i, diff)
		}
		if got := of.ScopeProfiles().At(0).Profiles().At(0).Samples().At(0).Values().At(0); got != 10*int64(i+1) {
			t.Errorf("the operations of rank %d took %d", i, got)
		}
	}
}
