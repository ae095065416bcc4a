package key

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
)

func TestParseKeys(t *testing.T) {
	golden.Lines(t, "testdata/keys.txt", func(text string) string {
		keys, err := Parse(text)
		return fmt.Sprint(keys, " error ", err)
	})
	if k, _ := ParseOne("attr:tenant"); k.Attr() != "tenant" {
		t.Errorf("attribute %q", k.Attr())
	}
	if k, _ := ParseOne("rank"); k.Attr() != "" {
		t.Errorf("attribute %q of rank", k.Attr())
	}
}

func TestKeyValues(t *testing.T) {
	full := op.Entry{
		Operation: "matmul", Kind: op.KindCompute, DeviceID: "cuda:0", Rank: op.Known(3), Stream: op.Known(0),
		Step:        op.Known(-1),
		InputShapes: []op.Shape{{64, 784}, {784, 256}}, OutputShape: op.Shape{64, 256}, DType: op.F32,
		Root: "POST /predict", Service: "api", Path: "encoder/layer.3", TraceID: op.TraceID{15: 1},
		Attrs: []op.Attr{{Key: "tenant", Value: "a<b"}},
	}
	for _, tc := range []struct {
		key   string
		entry op.Entry
		text  string
		json  string
	}{
		{"operation", full, "matmul", `"matmul"`},
		{"kind", full, "compute", `"compute"`},
		{"device", full, "cuda:0", `"cuda:0"`},
		{"rank", full, "3", `3`},
		{"stream", full, "0", `0`},
		{"step", full, "-1", `-1`},
		{"shape", full, "64x784,784x256->64x256:f32", `"64x784,784x256->64x256:f32"`},
		{"root", full, "POST /predict", `"POST /predict"`},
		{"service", full, "api", `"api"`},
		{"trace", full, "00000000000000000000000000000001", `"00000000000000000000000000000001"`},
		{"path", full, "encoder/layer.3", `"encoder/layer.3"`},
		{"attr:tenant", full, "a<b", `"a<b"`},
		{"attr:absent", full, "unknown", `null`},
		{"device", op.Entry{}, "unknown", `null`},
		{"rank", op.Entry{}, "unknown", `null`},
		{"trace", op.Entry{}, "unknown", `null`},
		{"kind", op.Entry{}, "unknown", `null`},
		{"shape", op.Entry{}, "unknown", `null`},
		{"shape", op.Entry{OutputShape: op.Shape{}}, "?->scalar", `"?->scalar"`},
		{"shape", op.Entry{InputShapes: []op.Shape{}, OutputShape: op.Shape{2, -1}}, "->2x?", `"->2x?"`},
		{"shape", op.Entry{DType: op.F16}, "?->?:f16", `"?->?:f16"`},
		{"error", full, "unknown", `null`},
		{"error", op.Entry{Failed: true, Error: "out of memory"}, "out of memory", `"out of memory"`},
		{"error", op.Entry{Failed: true}, "", `""`},
		{"attr:tenant", op.Entry{Attrs: []op.Attr{{Key: "tenant"}}}, "", `""`},
	} {
		k := check.Must(ParseOne(tc.key))(t)
		v := Of([]Key{k}, &tc.entry)[0]
		text := check.Must(v.MarshalJSON())(t)
		if v.String() != tc.text || string(text) != tc.json {
			t.Errorf("%s: %q %s, want %q %s", tc.key, v, text, tc.text, tc.json)
		}
		for value, want := range map[string]bool{tc.text: true, tc.text + "x": false} {
			var f Filter
			if err := f.Set(tc.key + "=" + value); err != nil || f.Match(&tc.entry) != want {
				t.Errorf("%s: %v for %v, want %v (%v)", &f, !want, tc.entry, want, err)
			}
		}
	}
}

func TestFilter(t *testing.T) {
	var f Filter
	if !f.Match(&op.Entry{}) {
		t.Error("an empty filter rejects an operation")
	}
	for _, tc := range [][2]string{
		{"device", `"device" is not of the form KEY=VALUE`}, {"colour=red", `parsing key: "colour" is not one of`},
		{"device=gpu:0", ""}, {"device=gpu:1", "repeated key device"}, {"operation=gemm<1, a=b>", ""},
	} {
		if err := f.Set(tc[0]); (err == nil) != (tc[1] == "") || err != nil && !strings.HasPrefix(err.Error(), tc[1]) {
			t.Errorf("%s: error %v, want %q", tc[0], err, tc[1])
		}
	}
	check.Equal(t, "text", "device=gpu:0 operation=gemm<1, a=b>", f.String())
	both := op.Entry{Operation: "gemm<1, a=b>", DeviceID: "gpu:0"}
	if !f.Match(&both) || f.Match(&op.Entry{Operation: both.Operation}) || f.Match(&op.Entry{DeviceID: "gpu:0"}) {
		t.Error("a filter of two keys accepts an operation with one of them")
	}
}

func TestGroupKeyJSON(t *testing.T) {
	keys := check.Must(Parse("rank,attr:tenant"))(t)
	for _, tc := range []struct {
		key  Group
		text string
		json string
	}{
		{
			Group{Keys: keys, Values: []Value{{Text: "7", Known: true, Number: op.Known(7)}, textValue(`"x"`)}},
			`7, "x"`, `{"rank":7,"attr:tenant":"\"x\""}`,
		},
		{Group{Keys: keys, Values: make([]Value, 2)}, "unknown, unknown", `{"rank":null,"attr:tenant":null}`},
		{Group{Keys: keys, Other: true}, "(other)", `{"rank":"(other)","attr:tenant":"(other)"}`},
	} {
		text := check.Must(json.Marshal(tc.key))(t)
		if tc.key.String() != tc.text || string(text) != tc.json {
			t.Errorf("%s %s, want %s %s", tc.key, text, tc.text, tc.json)
		}
	}
}

func FuzzParseKeys(f *testing.F) {
	for _, seed := range []string{"", "operation", "operation,shape", "attr:a, rank", "attr:", ",", "rank,rank",
		"hw.model, gpu.index", "."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := Parse(text)
		if err != nil {
			return
		}
		for _, k := range keys {
			again := check.Must(ParseOne(k.String()))(t)
			check.Equal(t, fmt.Sprintf("%q: key, read again", text), k, again, cmp.AllowUnexported(Key{}))
		}
	})
}

func TestMatchRequest(t *testing.T) {
	for where, want := range map[string]bool{
		"model=m": true, "model=n": false, "route=unknown": true, "tenant=a": false, "service=s": true,
		"service=t":                              false,
		"trace=0f000000000000000000000000000000": true, "trace=unknown": false, "device=gpu:0": true,
		"operation=matmul": true,
	} {
		var f Filter
		check.OK(t, f.Set(where))
		e := op.Entry{
			Operation: "llm_request", Service: "s", TraceID: op.TraceID{15},
			Attrs: []op.Attr{{Key: "gen_ai.request.model", Value: "m"}},
		}
		check.Equal(t, where, want, f.MatchRequest(&e))
	}
}
