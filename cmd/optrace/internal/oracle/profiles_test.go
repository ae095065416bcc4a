package oracle_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/fulldisk"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/render/otlpprofiles"
	"github.com/optrace/optrace/render/pprof"
)

// pprofOf writes a table as a profile and reads it back.
func pprofOf(t *testing.T, table *stacks.Table, opts pprof.Options) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	check.OK(t, pprof.Write(&b, table, opts))
	p := check.Must(profile.Parse(&b))(t)
	check.OK(t, p.CheckValid())
	return p
}

// requestLines is a run of two requests, with a nested operation, an operation of the host, and a repeated id.
const requestLines = `{"span":{"name":"POST /predict","trace_id":"T1","span_id":"01","start_unix_ns":N000,"duration_ns":1000}}
{"operation":"attention","device_id":"cuda:0","trace_id":"T1","span_id":"02","parent_span_id":"01","start_unix_ns":N100,"duration_ns":500}
{"operation":"matmul",SHAPES"trace_id":"T1","span_id":"03","parent_span_id":"02","start_unix_ns":N150,"duration_ns":200}
{"operation":"matmul",SHAPES"trace_id":"T1","span_id":"04","parent_span_id":"02","start_unix_ns":N400,"duration_ns":100}
{"operation":"aten::mm","side":"host","trace_id":"T1","span_id":"05","parent_span_id":"01","start_unix_ns":N050,"duration_ns":20}
{"operation":"again","device_id":"cuda:0","trace_id":"T1","span_id":"03","parent_span_id":"02","start_unix_ns":N150,"duration_ns":300}
{"span":{"name":"GET /héalth;\n\u001b[31m","trace_id":"T2","span_id":"01","start_unix_ns":N000,"duration_ns":1000}}
{"operation":"all_reduce","device_id":"cuda:1","trace_id":"T2","span_id":"02","parent_span_id":"01","start_unix_ns":N700,"duration_ns":50}
`

func pprofRequests() *trace.Forest {
	f := trace.New()
	f.KeepShapes()
	text := strings.NewReplacer(`"T`, `"0000000000000000000000000000000`, `span_id":"`, `span_id":"00000000000000`,
		":N", ":1772366400000000",
		"SHAPES", `"device_id":"cuda:0","input_shapes":[[64,784],[784,256]],"output_shape":[64,256],"dtype":"f32",`+
			`"memory_bytes":65536,"flops":25690112,`,
	).Replace(requestLines)
	for r := entries.NewReader(strings.NewReader(text), "requests"); ; {
		rec, err := r.Next()
		if err != nil {
			return f
		}
		f.Add(rec)
	}
}

func TestPprofGolden(t *testing.T) {
	p := pprofOf(t, stacks.Of(pprofRequests()), pprof.Options{Version: "v1.2.3", Lost: 12, Unread: 1234,
		Notes: []string{"a note\nof two lines"}})
	golden.Check(t, "testdata/pprof.txt", p.String())
	if p.TimeNanos != 1_772_366_400_000_000_100 || p.DurationNanos != 650 {
		t.Errorf("%d ns from %d on", p.DurationNanos, p.TimeNanos)
	}
}

// Comments mention overflowed rows and sums; FuzzPprof checks the samples.
func TestPprofOverflow(t *testing.T) {
	table := stacks.NewTable(stacks.Limits{Stacks: 1, Shapes: 1})
	for _, name := range []string{"a", "b", "c"} {
		var path stacks.Path
		path.Push(name)
		for _, shape := range []string{"2", "3"} {
			table.Add(&path, &stacks.Labels{Shape: shape}, stacks.Values{Count: 1, TimeNS: math.MaxInt64 / 2,
				SelfNS: 4})
		}
	}
	comments := strings.Join(pprofOf(t, table, pprof.Options{}).Comments, "\n")
	for _, want := range []string{
		"stacks beyond the limit, which are in (other): 2",
		"shapes of stacks beyond the limit, which are in (other): 5",
		"sums that do not fit 64 bits are cut",
	} {
		if !strings.Contains(comments, want) {
			t.Errorf("no %q in\n%s", want, comments)
		}
	}
}

func TestPprofWriteError(t *testing.T) {
	table := stacks.Of(pprofRequests())
	var b bytes.Buffer
	check.OK(t, pprof.Write(&b, table, pprof.Options{}))
	for limit := range cases.Some(t, 50, b.Len()) {
		if err := pprof.Write(&fulldisk.Writer{Left: limit}, table, pprof.Options{}); !errors.Is(err, fulldisk.Err) {
			t.Fatalf("limit %d: error %v, want %v", limit, err, fulldisk.Err)
		}
	}
}

// The samples of any table are its rows.
func FuzzPprof(f *testing.F) {
	for seed := range cases.Numbers(f, 50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		table := randomTable(rand.New(rand.NewPCG(seed, 0)))
		rows := table.Rows()
		p := pprofOf(t, table, pprof.Options{})
		if len(p.Sample) != len(rows) {
			t.Fatalf("%d samples of %d rows", len(p.Sample), len(rows))
		}
		room := int64(math.MaxInt64) // remaining growth of the sum of bytes
		for i, s := range p.Sample {
			row := &rows[i]
			var want, got []string
			for _, frame := range slices.Backward(row.Frames) {
				want = append(want, stacks.Name(frame))
			}
			for _, l := range s.Location {
				got = append(got, l.Line[0].Function.Name)
			}
			check.Equal(t, "frames", want, got)
			bytes := min(row.Bytes, room)
			room -= bytes
			check.Equal(t, "values", []int64{row.Count, row.TimeNS, row.SelfNS, bytes, row.FLOPs}, s.Value)
			check.Equal(t, "labels", [2]string{stacks.Clean(row.Device), row.Kind.String()},
				[2]string{strings.Join(s.Label["device"], " "), strings.Join(s.Label["kind"], " ")})
		}
	})
}

// profilesOf writes a table as profiles and returns them as read by the Collector's types from protobuf and from JSON.
func profilesOf(t *testing.T, table *stacks.Table, opts otlpprofiles.Options) pprofile.Profiles {
	t.Helper()
	var binary, text bytes.Buffer
	check.OK(t, errors.Join(otlpprofiles.Write(&binary, table, opts), otlpprofiles.WriteJSON(&text, table, opts)))
	// As the Collector's receiver reads them. The unmarshalers of pprofile drop the names of a resource's attributes.
	first, second := pprofileotlp.NewExportRequest(), pprofileotlp.NewExportRequest()
	if err := errors.Join(first.UnmarshalProto(binary.Bytes()), second.UnmarshalJSON(text.Bytes())); err != nil {
		t.Fatalf("%v\n%s", err, text.Bytes())
	}
	p := first.Profiles()
	check.Equal(t, "JSON against protobuf", asJSON(t, first), asJSON(t, second))
	var known any
	dec := json.NewDecoder(&text)
	if err := dec.Decode(&known); err != nil || dec.More() {
		t.Errorf("not one line of JSON: %v", err)
	}
	checkRules(t, known)
	for _, s := range samplesOf(p) {
		want := "" // cuda where a CUDA device computed the leaf
		if strings.HasPrefix(s.attributes["tensor.device.id"], "cuda:") && s.attributes["tensor.op.kind"] != "memory" &&
			s.names[0] != "(deeper)" {
			want = "cuda"
		}
		check.Equal(t, fmt.Sprintf("%q, %v: the type of the frame", s.names, s.attributes), want, s.frameType)
	}
	return p
}

// sample is one of OTLP's samples, with its references resolved.
type sample struct {
	resource   map[string]any
	kind       string   // one of kinds
	names      []string // from the leaf up
	attributes map[string]string
	link       string
	frameType  string // of the leaf
	value      int64
}

var kinds = []string{"time", "self", "count", "bytes", "flops"}

func samplesOf(p pprofile.Profiles) (list []sample) {
	d := p.Dictionary()
	text := func(i int32) string { return d.StringTable().At(int(i)) }
	attributes := func(indices pcommon.Int32Slice) map[string]string {
		all := make(map[string]string)
		for _, i := range indices.All() {
			a := d.AttributeTable().At(int(i))
			all[text(a.KeyStrindex())] = a.Value().AsString()
		}
		return all
	}
	for _, of := range p.ResourceProfiles().All() {
		for _, one := range of.ScopeProfiles().At(0).Profiles().All() {
			for _, s := range one.Samples().All() {
				l := d.LinkTable().At(int(s.LinkIndex()))
				to := sample{
					resource: of.Resource().Attributes().AsRaw(), kind: text(one.SampleType().TypeStrindex()),
					attributes: attributes(s.AttributeIndices()),
					link:       l.TraceID().String() + l.SpanID().String(), value: s.Values().At(0),
				}
				leaf := d.StackTable().At(int(s.StackIndex())).LocationIndices().At(0)
				to.frameType = attributes(d.LocationTable().At(int(leaf)).AttributeIndices())["profile.frame.type"]
				for _, l := range d.StackTable().At(int(s.StackIndex())).LocationIndices().All() {
					function := d.LocationTable().At(int(l)).Lines().At(0).FunctionIndex()
					to.names = append(to.names, text(d.FunctionTable().At(int(function)).NameStrindex()))
				}
				list = append(list, to)
			}
		}
	}
	return list
}

func asJSON(t *testing.T, request pprofileotlp.ExportRequest) string {
	t.Helper()
	text := check.Must(request.MarshalJSON())(t)
	var indented bytes.Buffer
	check.OK(t, json.Indent(&indented, text, "", " "))
	return indented.String()
}

// checkRules checks the rules of the specification, and of profcheck of open-telemetry/sig-profiling, for dictionaries
// and samples of a request in decoded JSON: each table begins with an empty element, not one of zeroes, has distinct
// elements, and all are referred to, by fields named after the table.
func checkRules(t *testing.T, request any) {
	t.Helper()
	tables := request.(map[string]any)["dictionary"].(map[string]any)
	used := make(map[string]bool)
	refer := func(table string, to any) {
		elements, _ := tables[table].([]any)
		i, _ := to.(float64)
		if i < 0 || int(i) >= len(elements) {
			t.Fatalf("%s has no element %v", table, to)
		}
		used[fmt.Sprint(table, i)] = true
	}
	var walk func(v any)
	walk = func(v any) {
		list, _ := v.([]any)
		for _, v := range list {
			walk(v)
		}
		object, _ := v.(map[string]any)
		for name, v := range object {
			if base, ok := strings.CutSuffix(name, "Indices"); ok {
				keys := make(map[any]bool)
				for _, to := range v.([]any) {
					refer(base+"Table", to)
					if a := tables[base+"Table"].([]any)[int(to.(float64))].(map[string]any); base == "attribute" &&
						keys[a["keyStrindex"]] {
						t.Errorf("two attributes have the key %v", a["keyStrindex"])
					} else {
						keys[a["keyStrindex"]] = true
					}
				}
			} else if base, ok := strings.CutSuffix(name, "Index"); ok {
				refer(base+"Table", v)
			} else if strings.HasSuffix(strings.ToLower(name), "strindex") {
				refer("stringTable", v)
			} else {
				walk(v)
			}
			if name == "profiles" {
				for _, p := range v.([]any) {
					checkProfile(t, p.(map[string]any))
				}
			}
		}
	}
	walk(request)
	check.Equal(t, "tables", 7, len(tables))
	for table, elements := range tables {
		seen := make(map[string]bool)
		for i, element := range elements.([]any) {
			text := check.Must(json.Marshal(element))(t)
			if isEmpty := string(text) == "{}" || string(text) == `""`; isEmpty != (i == 0) ||
				seen[string(text)] || i > 0 && !used[fmt.Sprint(table, float64(i))] {
				t.Errorf("%s has %s twice, or nothing refers to it, or its first element is not empty", table, text)
			}
			seen[string(text)] = true
		}
	}
}

// checkProfile checks that a profile has types and a period, and that its samples are distinct, with a stack and one
// positive value each.
func checkProfile(t *testing.T, p map[string]any) {
	t.Helper()
	for _, key := range []string{"sampleType", "periodType"} {
		kind, _ := p[key].(map[string]any)
		if kind["typeStrindex"] == nil || kind["unitStrindex"] == nil || p["period"] == nil {
			t.Errorf("a profile without a %s, or a period: %v", key, kind)
		}
	}
	seen := make(map[string]bool)
	samples, _ := p["samples"].([]any)
	for _, s := range samples {
		s := s.(map[string]any)
		attributes, _ := s["attributeIndices"].([]any)
		slices.SortFunc(attributes, func(a, b any) int { return cmp.Compare(a.(float64), b.(float64)) })
		identity := fmt.Sprint(s["stackIndex"], attributes, s["linkIndex"])
		values, _ := s["values"].([]any)
		if seen[identity] || len(values) != 1 || strings.HasPrefix(fmt.Sprint(values...), "-") || values[0] == "0" ||
			s["stackIndex"] == nil {
			t.Errorf("sample %s is there twice, or has the values %v", identity, values)
		}
		seen[identity] = true
	}
}

func producers(resources ...*op.Resource) *otlpprofiles.Producers {
	p := new(otlpprofiles.Producers)
	for _, r := range resources {
		p.Resource(r)
		p.Operation(&op.Entry{Service: r.Service, Rank: r.Rank})
	}
	return p
}

func TestProfilesGolden(t *testing.T) {
	opts := otlpprofiles.Options{
		Options:   pprof.Options{Version: "v1.2.3", Lost: 12, Notes: []string{"a note"}},
		Producers: producers(&op.Resource{Service: "api"}),
	}
	golden.Check(t, "testdata/otlpprofiles.json", asJSON(t,
		pprofileotlp.NewExportRequestFromProfiles(profilesOf(t, stacks.Of(pprofRequests()), opts)))+"\n")
}

func TestProfilesOfNothing(t *testing.T) {
	p := profilesOf(t, stacks.NewTable(stacks.Limits{}), otlpprofiles.Options{})
	check.Equal(t, "samples and profiles", [2]int{0, 5}, [2]int{p.SampleCount(), p.ProfileCount()})
}

func TestProfilesWriteError(t *testing.T) {
	for _, write := range []func(io.Writer, *stacks.Table, otlpprofiles.Options) error{otlpprofiles.Write,
		otlpprofiles.WriteJSON} {
		check.Is(t, "", fulldisk.Err, write(&fulldisk.Writer{}, stacks.Of(pprofRequests()), otlpprofiles.Options{}))
	}
}

// randomTable returns a table of operations with hostile names; some become equal.
func randomTable(r *rand.Rand) *stacks.Table {
	names := []string{"", "a", "a\n", "a ", "b;c", "\xff", "(other)", "é\u2028", "void gemm<4, float>(float*)"}
	name := func() string { return names[r.IntN(len(names))] }
	t := stacks.NewTable(stacks.Limits{Stacks: 1 + r.IntN(30), Shapes: 1 + r.IntN(30), Requests: 1 + r.IntN(30)})
	for range r.IntN(60) {
		var path stacks.Path
		for range 1 + r.IntN(4) {
			path.Push(name())
		}
		l := stacks.Labels{Device: name(), Kind: op.Kind(r.IntN(6)), Shape: name()}
		l.Producer = stacks.Producer{Service: names[r.IntN(2)], Rank: op.Int{V: int64(r.IntN(2)), Known: true}}
		if r.IntN(2) == 0 {
			l.Request = stacks.Request{Name: name(), TraceID: op.TraceID{15: byte(r.IntN(3))},
				SpanID: op.SpanID{7: byte(r.IntN(3))}}
		}
		t.Add(&path, &l, stacks.Values{
			Count: 1, TimeNS: r.Int64N(1000), SelfNS: r.Int64N(1000), Bytes: r.Int64N(2) * r.Int64(),
			FLOPs: r.Int64N(3) * 1000,
		})
		t.AddTime(r.Int64N(1000), 1000+r.Int64N(1000))
	}
	return t
}

// The profiles of any table keep the rules, and have its sums by producer, device, kind and stack.
func FuzzProfiles(f *testing.F) {
	for seed := range cases.Numbers(f, 50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		table := randomTable(rand.New(rand.NewPCG(seed, 0)))
		want, got := make(map[string]int64), make(map[string]int64)
		add := func(to map[string]int64, key string, v int64) { to[key] = min(to[key], math.MaxInt64-v) + v }
		var resources []*op.Resource
		for _, row := range table.Rows() {
			resources = append(resources, &op.Resource{Service: row.Producer.Service, Rank: row.Producer.Rank})
			key := fmt.Sprint("|", row.Producer.Service, "|", row.Producer.Rank.V, "|", stacks.Clean(row.Device), "|",
				row.Kind)
			for _, frame := range slices.Backward(row.Frames) {
				key += "|" + stacks.Name(frame)
			}
			for i, v := range []int64{row.TimeNS, row.SelfNS, row.Count, row.Bytes, row.FLOPs} {
				if v > 0 {
					add(want, kinds[i]+key, v)
				}
			}
		}
		for _, s := range samplesOf(profilesOf(t, table, otlpprofiles.Options{Producers: producers(resources...)})) {
			service, _ := s.resource["service.name"].(string)
			rank, _ := s.resource["tensor.rank"].(int64)
			add(got, fmt.Sprint(s.kind, "|", service, "|", rank, "|", s.attributes["tensor.device.id"], "|",
				s.attributes["tensor.op.kind"], "|", strings.Join(s.names, "|")), s.value)
		}
		check.Equal(t, "samples", want, got)
	})
}

// Attributes of a resource keep their types.
func TestResourceValues(t *testing.T) {
	attrs := []op.Attr{
		{Key: "text", Value: "a\nb\xff"}, {Key: "empty"}, {Key: "int", Value: "-7", Type: op.AttrInt},
		{Key: "no int", Value: "many", Type: op.AttrInt}, {Key: "float", Value: "2.5", Type: op.AttrFloat},
		{Key: "nan", Value: "NaN", Type: op.AttrFloat}, {Key: "inf", Value: "-Inf", Type: op.AttrFloat},
		{Key: "plus inf", Value: "+Inf", Type: op.AttrFloat}, {Key: "bool", Value: "true", Type: op.AttrBool},
		{Key: "bytes", Value: "AAE=", Type: op.AttrBytes},
		{Key: "json", Value: `["<a>",1,1.5,null,true,{"b":[],"a":{"bytesValue":"AAE="},"c":{"doubleValue":"NaN"}}]`,
			Type: op.AttrJSON},
		{Key: "no json", Value: `[`, Type: op.AttrJSON},
	}
	p := profilesOf(t, stacks.NewTable(stacks.Limits{}),
		otlpprofiles.Options{Producers: producers(&op.Resource{Attrs: attrs})})
	got := make(map[string]string)
	for key, v := range p.ResourceProfiles().At(0).Resource().Attributes().All() {
		got[key] = v.Type().String() + " " + v.AsString()
	}
	want := map[string]string{
		"text": "Str a b\uFFFD", "empty": "Str ", "int": "Int -7", "no int": "Str many", "float": "Double 2.5",
		"nan": "Double NaN", "inf": "Double -Infinity", "plus inf": "Double Infinity", "bool": "Bool true",
		"bytes": "Bytes AAE=", "no json": "Str [",
	}
	list, _ := p.ResourceProfiles().At(0).Resource().Attributes().Get("json")
	delete(got, "json") // pdata cannot show its NaN
	check.Equal(t, "", want, got)
	inner, _ := list.Slice().At(5).Map().Get("a")
	if list.Slice().Len() != 6 || list.Slice().At(0).Str() != "<a>" || list.Slice().At(1).Int() != 1 ||
		len(inner.Bytes().AsRaw()) != 2 {
		t.Errorf("a list is read as %v", list.Slice().AsRaw())
	}
}
