package oracle_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opfields"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
)

const schemaFile = root + "/docs/entries.schema.json"

// lineSchema returns the schema of one line.
func lineSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	return check.Must(jsonschema.NewCompiler().Compile(schemaFile))(t)
}

func validate(s *jsonschema.Schema, line []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// validateAll checks every line of a text and counts its records by their first key.
func validateAll(t *testing.T, s *jsonschema.Schema, name string, text []byte) map[string]int {
	t.Helper()
	kinds := map[string]int{}
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 { // the end of a failed write
			continue
		}
		if err := validate(s, line); err != nil {
			t.Errorf("%s: %s%v", name, line, err)
		}
		_, rest, _ := strings.Cut(string(line), `"`)
		key, _, _ := strings.Cut(rest, `"`)
		kinds[key]++
	}
	return kinds
}

// All ways of recording write valid lines, also while the writer fails and writes gaps.
func TestRecordingMatchesSchema(t *testing.T) {
	var text bytes.Buffer
	writes := 0
	w := spantest.WriterFunc(func(p []byte) (int, error) {
		if writes++; writes%3 == 2 { // provoke gap records
			return 0, errors.New("disk full")
		}
		return text.Write(p)
	})
	mapping := new(attr.Mapping)
	mapping.Keep("kept")
	exp := check.Must(optrace.NewExporter(w, optrace.WithMapping(mapping)))(t)
	p := check.Must(optrace.NewProcessor(exp))(t)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p), sdktrace.WithResource(resource.NewSchemaless(
		attribute.String(attrkey.ServiceName, "trainer"), attribute.Int(attrkey.Rank, 1),
		attribute.Int(attrkey.WorldSize, 8))))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range int64(100) {
		random := &spantest.Random{Data: make([]byte, 1500), Keys: []string{
			attrkey.Name, attrkey.InputShapes, attrkey.OutputShape, attrkey.InputDTypes, attrkey.Kind, attrkey.Path,
			attrkey.FLOPs, attrkey.Side, attrkey.OutputElements, attrkey.DType, attrkey.Device, attrkey.Stream,
			attrkey.Step, attrkey.Memory, attrkey.Collective, attrkey.Group, attrkey.GroupSize,
			attrkey.Sequence, attrkey.PeerRank, attrkey.InElements, attrkey.OutElements, attrkey.Rank,
			attrkey.Launch, "kept",
		}}
		for i := range random.Data {
			random.Data[i] = byte(rng.Uint32())
		}
		_ = exp.ExportSpans(t.Context(), tracetest.SpanStubs{random.Span(), random.Operation(),
			random.Operation()}.Snapshots())
		ctx, request := tp.Tracer("example.com/engine").Start(t.Context(), "POST /predict")
		_, o := optrace.NewTracer(tp).Start(optrace.ContextWithStep(ctx, i), "ncclKernel_AllGather", "cuda:1")
		o.DType(op.F32).In(64, i).Out(64, i).End()
		rec := p.Recorder(ctx)
		rec.Begin("add", "cuda:0")
		rec.Finish()
		request.End()
		_ = p.ForceFlush(t.Context())
	}
	_ = tp.Shutdown(t.Context())
	kinds := validateAll(t, lineSchema(t), "recorded", text.Bytes())
	for _, kind := range []string{"step", "schema", "batch", "gap", "span"} {
		if kinds[kind] == 0 {
			t.Errorf("no records that start with %q: %v", kind, kinds)
		}
	}
}

// The repository's files in this format are valid if optrace wrote them, and so are entries read from other formats.
func TestSamplesMatchSchema(t *testing.T) {
	s := lineSchema(t)
	files := 0
	for _, path := range samples(t) {
		text := check.Must(os.ReadFile(path))(t)
		if bytes.HasPrefix(text, []byte(`{"batch":`)) || bytes.HasPrefix(text, []byte(`{"schema":`)) &&
			filepath.Base(path) == "records.jsonl" {
			files++
			validateAll(t, s, path, text)
		}
		var out []byte
		const enough = 100 // of each file: the validator is slow
		n := 0
		for rec, err := range ingest.Open(path).Records() {
			if n++; n > enough || err != nil { // some are damaged on purpose
				break
			}
			out = append(append(out, appendRecord(&rec)...), '\n')
		}
		validateAll(t, s, "read from "+path, out)
	}
	if files < 2 {
		t.Errorf("%d files of entries found", files)
	}
}

// The schema rejects invalid lines.
func TestSchemaRejects(t *testing.T) {
	s := lineSchema(t)
	golden.Lines(t, "testdata/invalid.txt", func(line string) string {
		if validate(s, []byte(line)) == nil {
			return "valid"
		}
		return "invalid"
	})
}

type definition struct {
	Properties map[string]*definition `json:"properties"`
}

// keys returns the keys of an object, or of the only object in it.
func (d *definition) keys(inner string) []string {
	if p := d.Properties[inner]; p != nil {
		d = p
	}
	return slices.Sorted(maps.Keys(d.Properties))
}

// TestFormatsDocumented compares formats.md with the schema and the code.
func TestFormatsDocumented(t *testing.T) {
	page := check.Must(os.ReadFile(root + "/docs/formats.md"))(t)
	text := check.Must(os.ReadFile(schemaFile))(t)
	var schema struct {
		Defs map[string]*definition `json:"$defs"`
	}
	check.OK(t, json.Unmarshal(text, &schema))
	tables := keyTables(string(page))
	for _, part := range []struct {
		heading, def, inner string
		table               int // index below the heading
	}{
		{"Entry", "entry", "", 0}, {"Collective", "collective", "", 0}, {"Header", "header", "", 0},
		{"Header", "resource", "", 1}, {"Batch record", "batch", "batch", 0}, {"Gap record", "gap", "gap", 0},
		{"Ancestry record", "span", "span", 0}, {"Extra", "extra", "", 0},
	} {
		found := tables[part.heading]
		if len(found) <= part.table {
			t.Errorf("no table below %q", part.heading)
			continue
		}
		check.Equal(t, fmt.Sprintf("the keys of %s: page against schema", part.def),
			schema.Defs[part.def].keys(part.inner), slices.Sorted(slices.Values(found[part.table])))
	}

	check.Equal(t, "the keys of an entry: page against table of fields", columnNames(opfields.Entry), tables["Entry"][0])
	check.Equal(t, "the keys of a collective: page against table of fields", columnNames(opfields.Collective),
		tables["Collective"][0])

	s := lineSchema(t)
	examples := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(examples) < len(tables)-1 {
		t.Errorf("%d examples for %d tables", len(examples), len(tables))
	}
	for _, e := range examples {
		for line := range strings.Lines(e[1]) {
			if err := validate(s, []byte(line)); err != nil {
				t.Errorf("%s%v", line, err)
			}
			rec, err := entries.DecodeLine([]byte(line))
			if err != nil {
				t.Errorf("%s%v", line, err)
				continue
			}
			check.Equal(t, "read and written again", strings.TrimSpace(line), string(appendRecord(&rec)))
		}
	}
	for w := op.Warning(1); w.String() != ""; w <<= 1 {
		if !strings.Contains(string(page), "`"+w.String()+"`") || !strings.Contains(string(text), `"`+w.String()+`"`) {
			t.Errorf("the warning %s is not documented", w)
		}
	}
}

func columnNames[T any](columns []opfields.Field[T]) (names []string) {
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

// keyTables returns the first cells of the tables of keys below each heading.
func keyTables(page string) map[string][][]string {
	tables := map[string][][]string{}
	heading := ""
	var current *[]string
	for line := range strings.Lines(page) {
		if title := strings.TrimLeft(line, "#"); title != line {
			heading = strings.TrimSpace(title)
		}
		cell := regexp.MustCompile("^\\| `?([a-z_]+)`? \\|").FindStringSubmatch(line)
		switch {
		case cell == nil && !strings.HasPrefix(line, "|"):
			current = nil
		case cell == nil:
		case cell[1] == "key" && current == nil:
			tables[heading] = append(tables[heading], nil)
			current = &tables[heading][len(tables[heading])-1]
		case current != nil:
			*current = append(*current, cell[1])
		}
	}
	return tables
}

func appendRecord(rec *op.Record) []byte {
	switch {
	case rec.Entry != nil:
		return rec.Entry.AppendJSON(nil)
	case rec.Span != nil:
		return rec.Span.AppendJSON(nil)
	case rec.Call != nil:
		return rec.Call.AppendCallJSON(nil)
	case rec.Gap != nil:
		return rec.Gap.AppendJSON(nil)
	case rec.Batch != nil:
		return rec.Batch.AppendJSON(nil)
	}
	return op.AppendHeader(nil, rec.Resource)
}
