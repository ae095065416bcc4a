package op

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// written collects attributes as texts.
type written map[string]string

func (w written) Str(key, value string)           { w[key] = value }
func (w written) Int(key string, value int64)     { w[key] = fmt.Sprint(value) }
func (w written) DTypes(key string, list []DType) { w[key] = fmt.Sprint(list) }
func (w written) Shape(key string, shape Shape)   { w[key] = fmt.Sprint(shape) }
func (w written) Shapes(key string, list []Shape) { w[key] = fmt.Sprint(list) }

// What a reader works out from other attributes is not written, and all else is.
func TestWriteAttrsLeavesOutWhatFollows(t *testing.T) {
	for _, tt := range []struct {
		name  string
		entry Entry
		want  written
	}{
		{"nothing is known", Entry{}, written{}},
		{"no inputs", Entry{InputShapes: []Shape{}, InputDTypes: []DType{}}, written{KeyInputShapes: "[]", KeyInputDTypes: "[]"}},
		{"a shape", Entry{OutputShape: Shape{2, 3}, OutputElements: Known(6)}, written{KeyOutputShape: "2x3"}},
		{
			"other elements", Entry{OutputShape: Shape{2, 3}, OutputElements: Known(5)},
			written{KeyOutputShape: "2x3", KeyOutputElements: "5"},
		},
		{"elements without a shape", Entry{OutputElements: Known(5)}, written{KeyOutputElements: "5"}},
		{"a warning that follows", Entry{DroppedAttributes: 1, Warn: WarnDroppedAttributes}, written{}},
		{
			"a warning that does not follow", Entry{Warn: WarnDroppedAttributes},
			written{KeyWarnings: WarnDroppedAttributes.String()},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.entry.KindRule = RuleDefault
			got := written{}
			tt.entry.WriteAttrs(got)
			delete(got, KeyKind)
			delete(got, KeyKindRule)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
		})
	}
}

// An operation may end with the last nanosecond that there is, and not later.
func TestReaderEndOfTime(t *testing.T) {
	const duration = 1000
	for _, tt := range []struct {
		start int64
		known bool
	}{
		{0, true}, {math.MaxInt64 - duration, true}, {math.MaxInt64 - duration + 1, false}, {math.MaxInt64, false},
	} {
		lines := fmt.Sprintf(`{"operation":"add","duration_ns":%d,"start_unix_ns":%d}
{"span":{"duration_ns":%[1]d,"start_unix_ns":%[2]d,"name":"request","trace_id":%q,"span_id":"0102030405060708"}}
`, duration, tt.start, "0102030405060708090a0b0c0d0e0f10")
		n := 0
		for rec, err := range NewReader(strings.NewReader(lines), "in").Records() {
			n++
			switch {
			case err != nil:
				t.Error(err)
			case rec.Entry != nil:
				if e := rec.Entry; e.Start.Known != tt.known || (e.Warn&WarnBadTime != 0) == tt.known {
					t.Errorf("start %d of an operation: %v, warnings %v", tt.start, e.Start, e.Warn)
				}
			case rec.Span != nil && rec.Span.Start.Known != tt.known:
				t.Errorf("start %d of a span: %v", tt.start, rec.Span.Start)
			}
		}
		if n != 2 {
			t.Errorf("%d records, want 2", n)
		}
	}
}

// An element type that is not known is kept, with a warning; none is none.
func TestReaderElementTypes(t *testing.T) {
	for dtype, want := range map[string]Warning{`"posit"`: WarnUnknownDType, `"f32"`: 0, `""`: 0, `null`: 0} {
		line := `{"operation":"add","duration_ns":1, "dtype":` + dtype + `,"start_unix_ns":1}`
		for rec, err := range NewReader(strings.NewReader(line+"\n"), "in").Records() {
			if err != nil {
				t.Fatal(err)
			}
			if got := rec.Entry.Warn & WarnUnknownDType; got != want {
				t.Errorf("%s: warnings %v", dtype, rec.Entry.Warn)
			}
		}
	}
}

// A list without elements is the shape of a scalar, and as shapes of inputs none.
func TestBuilderEmptyLists(t *testing.T) {
	b := NewBuilder(nil)
	b.Reset()
	b.Str(KeyName, "add")
	for _, key := range []string{KeyInputShapes, KeyOutputShape} {
		list := b.BeginList(key)
		list.End()
	}
	e, ok := b.Entry()
	if !ok || e.InputShapes == nil || len(e.InputShapes) != 0 || e.OutputShape == nil || len(e.OutputShape) != 0 || e.Warn&WarnBadShape != 0 {
		t.Errorf("the entry is %+v", e)
	}
}

// A trace without metadata has no record for it.
func TestTraceRecordsWithoutMetadata(t *testing.T) {
	for text, want := range map[string]int{`{"entries":[]}`: 0, `{"model":"net","entries":[]}`: 1} {
		n := 0
		for rec, err := range TraceRecords([]byte(text), "in") {
			if err != nil {
				t.Fatal(err)
			}
			if rec.Resource != nil {
				n++
			}
		}
		if n > want {
			t.Errorf("%s: %d records of a resource, want %d", text, n, want)
		}
	}
}
