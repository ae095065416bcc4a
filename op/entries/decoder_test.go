package entries_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// minimal is the smallest entry with the changes applied.
func minimal(changes ...func(*op.Entry)) *op.Entry {
	e := &op.Entry{Operation: "a", Duration: 1500, Kind: op.KindCompute, KindRule: op.RuleDefault}
	for _, change := range changes {
		change(e)
	}
	return e
}

func TestDecodeEntry(t *testing.T) {
	warn := func(w op.Warning) func(*op.Entry) { return func(e *op.Entry) { e.Warn |= w } }
	big64 := func(e *op.Entry) { e.FLOPs = op.Known(math.MaxInt64) }
	for _, test := range []struct {
		name, fields string // behind operation and duration_us
		want         *op.Entry
	}{
		{"minimal", ``, minimal()},
		{"nulls", `"device_id":null,"step":null,"output_shape":null,"input_shapes":null,"trace_id":null,"rank":null,` +
			`"error":null,` +
			`"collective":null,"attrs":null,"warn":null,"kind":null,"input_dtypes":null,"adjusted_count":null,` +
			`"start_unix_ns":null`, minimal()},
		{"unknown keys", `"new":{"a":[1,{"b":null}]},"x":"y"`, minimal()},
		{"keys of another case are ignored", `"Operation":"b","DURATION_US":7,"Step":3`, minimal()},
		{"last of duplicates wins", `"operation":"b","operation":"a","step":1,"step":2,"error":"x","error":null`,
			minimal(func(e *op.Entry) { e.Step = op.Known(2) })},
		{"duplicate shapes", `"output_shape":[2],"output_shape":[3]`, minimal(func(e *op.Entry) {
			e.OutputShape = op.Shape{3}
			e.OutputElements = op.Known(3)
			e.MemoryBytes = op.Known(24)
		})},
		{"duration_ns wins", `"duration_ns":7,"duration_us":9`, minimal(func(e *op.Entry) { e.Duration = 7 })},
		{"numbers as strings", `"step":"3","flops":"9223372036854775807","output_shape":["2"],"output_elements":"2",` +
			`"memory_bytes":"16"`,
			minimal(big64, func(e *op.Entry) {
				e.Step = op.Known(3)
				e.OutputShape = op.Shape{2}
				e.OutputElements = op.Known(2)
				e.MemoryBytes = op.Known(16)
			})},
		{"2^63-1", `"flops":9223372036854775807`, minimal(big64)},
		{"2^63", `"flops":9223372036854775808`, minimal(warn(op.WarnBadValue))},
		{"1e400", `"step":1e400`, minimal(warn(op.WarnBadValue))},
		{"integral float", `"step":3.0,"stream":7e0`,
			minimal(func(e *op.Entry) { e.Step, e.Stream = op.Known(3), op.Known(7) })},
		{"fraction", `"step":3.5`, minimal(warn(op.WarnBadValue))},
		{"-0", `"step":-0`, minimal(func(e *op.Entry) { e.Step = op.Known(0) })},
		{"negative rank", `"rank":-1`, minimal(warn(op.WarnBadValue))},
		{"negative memory", `"memory_bytes":-1`, minimal(warn(op.WarnBadMemory))},
		{"memory of a wrong type", `"memory_bytes":[1]`, minimal(warn(op.WarnBadMemory))},
		{"text of a wrong type", `"device_id":5,"service":{"a":1}`, minimal(warn(op.WarnBadValue))},
		{"number of a wrong type", `"step":true,"rank":{}`, minimal(warn(op.WarnBadValue))},
		{"shape of a wrong type", `"output_shape":"2x3"`, minimal(warn(op.WarnBadShape))},
		{"shape below -1", `"output_shape":[2,-2]`, minimal(warn(op.WarnBadShape))},
		{"shape with a fraction", `"output_shape":[2.5]`, minimal(warn(op.WarnBadShape))},
		{"shape with a null", `"output_shape":[null]`, minimal(warn(op.WarnBadShape))},
		{"one of the inputs", `"input_shapes":[[2],null,"x",[true]]`, minimal(warn(op.WarnBadShape),
			func(e *op.Entry) { e.InputShapes = []op.Shape{{2}, nil, nil, nil} })},
		{"dynamic", `"output_shape":[-1]`, minimal(warn(op.WarnDynamicDim),
			func(e *op.Entry) { e.OutputShape = op.Shape{-1} })},
		{"overflow", `"output_shape":[4611686018427387904,8]`, minimal(warn(op.WarnOverflow),
			func(e *op.Entry) { e.OutputShape = op.Shape{1 << 62, 8} })},
		{"no shape", `"output_elements":5`, minimal(func(e *op.Entry) {
			e.OutputElements = op.Known(5)
			e.MemoryBytes = op.Known(40)
		})},
		{"the file's numbers stay", `"output_shape":[4],"output_elements":7,"memory_bytes":9`,
			minimal(func(e *op.Entry) {
				e.OutputShape = op.Shape{4}
				e.OutputElements = op.Known(7)
				e.MemoryBytes = op.Known(9)
			})},
		{"the file's nulls stay", `"output_shape":[4],"output_elements":null,"memory_bytes":null`,
			minimal(func(e *op.Entry) { e.OutputShape = op.Shape{4} })},
		{"dtype", `"dtype":"torch.float32","output_shape":[4]`, minimal(func(e *op.Entry) {
			e.DType = op.F32
			e.OutputShape = op.Shape{4}
			e.OutputElements = op.Known(4)
			e.MemoryBytes = op.Known(16)
		})},
		{"zero ids", `"trace_id":"00000000000000000000000000000000","span_id":"0000000000000000",` +
			`"parent_span_id":"0000000000000000"`,
			minimal(warn(op.WarnBadID))},
		{"bad id", `"trace_id":"xyz"`, minimal(warn(op.WarnBadID))},
		{"empty ids", `"trace_id":"","span_id":""`, minimal()},
		{"span without a trace", `"span_id":"eee19b7ec3c1b174"`, minimal(warn(op.WarnBadID),
			func(e *op.Entry) { e.SpanID = optest.SpanID })},
		{"explicit kind", `"kind":"io"`, minimal(func(e *op.Entry) {
			e.Kind = op.KindIO
			e.KindRule = op.RuleAttribute
		})},
		{"unknown kind", `"kind":"dance"`, minimal(warn(op.WarnBadValue))},
		{"collective", `"collective":{"name":"all_reduce","future":[1]}`, minimal(func(e *op.Entry) {
			e.Kind = op.KindCollective
			e.KindRule = op.RuleAttribute
			e.Collective = &op.Collective{Name: "all_reduce"}
		})},
		{"unknown side", `"side":"left"`, minimal(warn(op.WarnBadValue))},
		{"bad parent", `"parent_span_id":"xyz"`, minimal(warn(op.WarnBadID))},
		{"adjusted count below 1", `"adjusted_count":0.5`, minimal(warn(op.WarnBadValue))},
		{"adjusted count beyond float64", `"adjusted_count":1e400`, minimal(warn(op.WarnBadValue))},
		{"dtype that is not known", `"dtype":"posit"`, minimal(warn(op.WarnUnknownDType),
			func(e *op.Entry) { e.DType = "posit" })},
		{"empty dtype", `"dtype":""`, minimal()},
		{"no dtype", `"dtype":null`, minimal()},
		{"start at 0", `"start_unix_ns":0`, minimal(func(e *op.Entry) { e.Start = op.Known(0) })},
		{"end at the last nanosecond", `"start_unix_ns":9223372036854774307`,
			minimal(func(e *op.Entry) { e.Start = op.Known(math.MaxInt64 - 1500) })},
		{"end one later", `"start_unix_ns":9223372036854774308`, minimal(warn(op.WarnBadTime))},
		{"end beyond int64", `"start_unix_ns":9223372036854775807`, minimal(warn(op.WarnBadTime))},
		{"negative duration", `"duration_us":-5`, minimal(warn(op.WarnNegativeDuration),
			func(e *op.Entry) { e.Duration = 0 })},
		{"error without words", `"error":""`, minimal(func(e *op.Entry) { e.Failed = true })},
		{"NUL", `"path":"a\u0000b"`, minimal(func(e *op.Entry) { e.Path = "a\x00b" })},
		{"invalid UTF-8", "\"path\":\"a\xff\xfeb\"", minimal(warn(op.WarnInvalidUTF8),
			func(e *op.Entry) { e.Path = "a\ufffd\ufffdb" })},
		{"unpaired surrogate", `"path":"\ud800"`, minimal(func(e *op.Entry) { e.Path = "\ufffd" })},
		{"warnings", `"warn":["overflow","from_the_future","bad_id"]`, minimal(warn(op.WarnOverflow | op.WarnBadID))},
		{"attributes of other types", `"attrs":{"a":1,"b":[1, 2],"a":"x"}`, minimal(func(e *op.Entry) {
			e.Attrs = []op.Attr{{Key: "a",
				Value: "x"}, {Key: "b", Value: "[1, 2]", Type: op.AttrJSON}}
		})},
	} {
		line := `{"operation":"a","duration_us":1.5`
		if test.fields != "" {
			line += "," + test.fields
		}
		line += "}"
		rec, err := entries.DecodeLine([]byte(line))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		check.Equal(t, test.name, op.Record{Entry: test.want}, rec)
	}
}

func TestDecodeLimits(t *testing.T) {
	dims := strings.Repeat("1,", op.MaxRank) + "1"
	shapes := strings.Repeat("[2],", op.MaxInputs) + "[2]"
	types := strings.Repeat(`"f32",`, op.MaxInputs) + `"f32"`
	rec := check.Must(entries.DecodeLine([]byte(`{"operation":"a","duration_us":1,"output_shape":[` + dims +
		`],"input_shapes":[` + shapes +
		`],"input_dtypes":[` + types + `]}`)))(t)
	e := rec.Entry
	if len(e.OutputShape) != op.MaxRank || len(e.InputShapes) != op.MaxInputs || len(e.InputDTypes) != op.MaxInputs ||
		e.Warn != op.WarnShapeTruncated {
		t.Errorf("%d dimensions, %d inputs, %d types, warnings %q", len(e.OutputShape), len(e.InputShapes),
			len(e.InputDTypes), e.Warn)
	}
	if e.OutputElements.Known {
		t.Errorf("elements of a shape that was cut are %v", e.OutputElements)
	}
}

func TestDecodeRecords(t *testing.T) {
	for _, test := range []struct {
		line string
		want op.Record
	}{
		{`{}`, op.Record{}},
		{`{"schema":"optrace.entries/v1"}`, op.Record{}},
		{`{"schema":"optrace.entries/v1","resource":null}`, op.Record{}},
		{`{"resource":{"service":"s","rank":"3","new":1,"attrs":{"a":true}}}`,
			op.Record{Resource: &op.Resource{Service: "s",
				Rank: op.Known(3), Attrs: []op.Attr{{Key: "a", Value: "true", Type: op.AttrBool}}}}},
		{`{"gap":{"dropped":5,"reason":"x","new":[]}}`, op.Record{Gap: &op.Gap{Dropped: 5, Reason: "x"}}},
		{`{"batch":{"writer":"w","seq":1,"entries":2,"new":0}}`,
			op.Record{Batch: &op.Batch{Writer: "w", Sequence: 1, Entries: 2}}},
		{`{"span":{"name":"n","parent_remote":true,"failed":null,"duration_ns":-5,"new":{}}}`,
			op.Record{Span: &op.Span{Name: "n",
				RemoteParent: true}}},
		{`{"span":{"name":"n","start_unix_ns":9223372036854775807,"duration_ns":5}}`,
			op.Record{Span: &op.Span{Name: "n", Duration: 5}}},
		{`{"span":{"start_unix_ns":9223372036854775802,"duration_ns":5}}`,
			op.Record{Span: &op.Span{Start: op.Known(math.MaxInt64 - 5), Duration: 5}}},
		{`{"span":{"start_unix_ns":9223372036854775803,"duration_ns":5}}`, op.Record{Span: &op.Span{Duration: 5}}},
		{`{"gap":{"dropped":5},"batch":{"writer":"w"}}`, op.Record{Batch: &op.Batch{Writer: "w"}}},
		{`{"span":null}`, op.Record{}}, {`{"gap":null}`, op.Record{}}, {`{"batch":null}`, op.Record{}},
		{`{"future":{"a":1}}`, op.Record{Skipped: op.Skipped{Reason: op.SkipUnknownRecord, N: 1}}},
	} {
		got, err := entries.DecodeLine([]byte(test.line))
		if err != nil {
			t.Errorf("%s: %v", test.line, err)
			continue
		}
		check.Equal(t, test.line, test.want, got)
	}
}

func TestDecodeErrors(t *testing.T) {
	const record = "invalid_record"
	for _, test := range []struct {
		line, want string
		truncated  bool
		class      string
	}{
		{``, "line: unexpected end of JSON text (at byte 0)", true, "syntax"},
		{`{"operation":"a","duration_us":1`, "line: unexpected end of JSON text (at byte 32)", true, "syntax"},
		{`[]`, "line: expected an object, found '[' (at byte 0)", false, "syntax"},
		{`{"operation":"a" "x":1}`, "line: expected ',' or '}', found '\"' (at byte 17)", false, "syntax"},
		{`{"operation":"a","duration_us":1}}`, "line: expected the end of the JSON text, found '}' (at byte 33)", false,
			"syntax"},
		{`{"operation":null,"duration_us":1}`, "line: an entry without an operation (at byte 34)", false, record},
		{`{"operation":5,"duration_us":1}`, "line: an entry without an operation (at byte 31)", false, record},
		{`{"step":5}`, "line: an entry without an operation (at byte 10)", false, record},
		{`{"operation":"a"}`, "line: an entry without a duration (at byte 17)", false, record},
		{`{"operation":"a","duration_us":"x"}`,
			"line: duration_us is not a duration that fits 64 bits of nanoseconds (at byte 34)", false, record},
		{`{"operation":"a","duration_us":{}}`,
			"line: duration_us is not a duration that fits 64 bits of nanoseconds (at byte 33)", false, record},
		{`{"operation":"a","duration_us":1e400}`,
			"line: duration_us is not a duration that fits 64 bits of nanoseconds (at byte 36)", false, record},
		{`{"operation":"a","duration_us":1,"gap":{"dropped":1}}`,
			"line: an entry and another record in one (at byte 0)", false, record},
		{`{"gap":{"dropped":-1}}`, "line: dropped is not a count (at byte 20)", false, record},
		{`{"batch":{"seq":"x"}}`, "line: seq is not a count (at byte 19)", false, record},
		{`{"gap":5}`, "line: expected an object, found '5' (at byte 7)", false, "syntax"},
		{`{"schema":"optrace.entries/v2"}`, `line: schema "optrace.entries/v2" is not supported, this version reads ` +
			`"optrace.entries/v1" ` +
			`(at byte 0)`, false, record},
		{`{"a":` + strings.Repeat("[", 1000) + `}`, "line: nested deeper than 512 (at byte 516)", false, "syntax"},
	} {
		_, err := entries.DecodeLine([]byte(test.line))
		var syntax *op.SyntaxError
		if !errors.As(err, &syntax) || err.Error() != test.want || syntax.Truncated != test.truncated ||
			syntax.Class.String() != test.class {
			t.Errorf("%.60s: error %v, want %s of class %s", test.line, err, test.want, test.class)
		}
	}
}

func FuzzDecodeLine(f *testing.F) {
	for _, line := range goldenRecords() {
		f.Add([]byte(line))
	}
	f.Add([]byte(`{"operation":"a","duration_us":"1.5","step":"3","output_shape":[-1,2],"input_shapes":[[1],null,` +
		`"x"],"trace_id":"zz"}`))
	f.Add([]byte(`{"operation":"ncclX","duration_us":null,"memory_bytes":-4,"attrs":{"a":{"b":[1]},"a":2},` +
		`"warn":["bad_id"]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		rec, err := entries.DecodeLine(line)
		if err != nil {
			return
		}
		if !json.Valid(line) {
			t.Fatalf("%q is no JSON", line)
		}
		recordtest.Check(t, recordtest.All(rec))
		if rec.Entry != nil { // and the written text loses no value
			want := rec.Entry.Clone()
			back := check.Must(entries.DecodeLine(rec.Entry.AppendJSON(nil)))(t).Entry
			if want.Kind != op.KindCollective {
				want.KindRule = back.KindRule // files keep it for collectives only
			}
			check.Equal(t, "written and read", want, back)
		}
	})
}
