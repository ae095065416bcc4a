package oracle_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/parquet"
	"github.com/optrace/optrace/render/otlp"
)

// wholeSource is a Source whose entries have all fields, and whose spans the attributes that are wanted.
type wholeSource struct{ *ingest.Input }

func (s wholeSource) Want(w attr.Want) { s.Input.Want(attr.Want{Spans: w.Spans}) }

// strippedSource is a Source that leaves out everything that it may.
type strippedSource struct {
	wholeSource
	omitted attrmap.Fields
}

func (s *strippedSource) Want(w attr.Want) {
	s.wholeSource.Want(w)
	s.omitted = w.Omit
}

func (s *strippedSource) Read(workers int, read func(int, int64, int64, iter.Seq2[op.Record, error]) error) error {
	return s.wholeSource.Read(workers, func(worker int, file, part int64, records iter.Seq2[op.Record, error]) error {
		return read(worker, file, part, func(yield func(op.Record, error) bool) {
			for rec, err := range records {
				if rec.Entry != nil {
					rec.Entry, rec.Whole = stripped(rec.Entry, s.omitted), wholeEntry{rec.Entry}
				}
				if rec.Span != nil && s.omitted.Has(attrmap.FieldSpans) {
					rec = op.Record{Skipped: op.Skipped{Reason: op.SkipNonOp, N: 1}}
				}
				if !yield(rec, err) {
					return
				}
			}
		})
	})
}

type wholeEntry struct{ *op.Entry }

// ReadWhole implements [op.WholeReader].
func (w wholeEntry) ReadWhole() *op.Entry { return w.Entry }

func stripped(e *op.Entry, omitted attrmap.Fields) *op.Entry {
	c := *e
	for field, clear := range map[attrmap.Field]func(){
		attrmap.FieldPath:   func() { c.Path = "" },
		attrmap.FieldScope:  func() { c.Scope = "" },
		attrmap.FieldStep:   func() { c.Step = op.Int{} },
		attrmap.FieldStream: func() { c.Stream = op.Int{} },
		attrmap.FieldLaunch: func() { c.Launch = op.Int{} },
		attrmap.FieldRoot:   func() { c.Root, c.RootSpanID = "", op.SpanID{} },
		attrmap.FieldIDs:    func() { c.TraceID, c.SpanID = op.TraceID{}, op.SpanID{} },
		attrmap.FieldParent: func() { c.ParentSpanID = op.SpanID{} },
		attrmap.FieldLinks:  func() { c.Links = nil },
	} {
		if omitted.Has(field) {
			clear()
			omitted &^= attrmap.FieldsOf(field)
		}
	}
	if omitted &^= attrmap.FieldsOf(attrmap.FieldSpans); omitted != 0 {
		panic("a field that this test does not know")
	}
	return &c
}

// inAllFormats returns samples, and files that hold the same in the other formats, by name.
func inAllFormats(tb testing.TB) map[string]string {
	tb.Helper()
	paths := map[string]string{}
	dir := tb.TempDir()
	for path := range cases.Of(tb, 15, samples(tb)) {
		paths[path] = path
		for format, text := range converted(path) {
			file := filepath.Join(dir, strings.ReplaceAll(path, "/", "_")+"."+format)
			check.OK(tb, os.WriteFile(file, text, 0o600))
			paths[path+" as "+format] = file
		}
	}
	return paths
}

type recordWriter interface {
	Entry(e *op.Entry) error
	Span(s *op.Span) error
	Resource(r *op.Resource) error
}

// converted returns the records of a file by the names of formats, none of a file that
// cannot be read.
func converted(path string) map[string][]byte {
	m := new(attr.Mapping)
	m.KeepAll()
	var lines, parquets, spans bytes.Buffer
	e, p, o := entries.NewWriter(&lines, nil), parquet.NewWriter(&parquets), otlp.NewWriter(&spans)
	n := 0
	for rec, err := range (ingest.Options{Mapping: m}).Open(path).Records() {
		if err != nil {
			return nil
		}
		for _, w := range []recordWriter{e, p, o} {
			switch {
			case rec.Entry != nil:
				n++
				err = w.Entry(rec.Entry)
			case rec.Span != nil:
				err = w.Span(rec.Span)
			case rec.Resource != nil:
				err = w.Resource(rec.Resource)
			}
			if err != nil {
				return nil
			}
		}
	}
	if n == 0 || e.Flush() != nil || p.Close() != nil || o.Flush() != nil {
		return nil
	}
	return map[string][]byte{"jsonl": lines.Bytes(), "parquet": parquets.Bytes(), "otlp": spans.Bytes()}
}

// reportJSON returns the report on a source, "" where it cannot be read.
func reportJSON(tb testing.TB, src analyze.Source, opts analyze.Options) string {
	tb.Helper()
	r, err := analyze.Run(tb.Context(), src, opts)
	if err != nil {
		return ""
	}
	text := check.Must(json.MarshalIndent(r, "", " "))(tb)
	return string(text)
}

// TestOmittedFields reports on entries with all fields and without those that the
// report does not need.
func TestOmittedFields(t *testing.T) {
	options := map[string]analyze.Options{"everything": {}, "sums": {SumsOnly: true}}
	for _, by := range []string{"stream", "step,shape", "root", "attr:tensor.op.path"} {
		keys := check.Must(key.Parse(by))(t)
		options["by "+by] = analyze.Options{SumsOnly: true, By: keys, Workers: 2}
	}
	read := 0
	for name, path := range inAllFormats(t) {
		for of := range cases.Of(t, 2, slices.Sorted(maps.Keys(options))) {
			opts := options[of]
			if len(opts.By) > 0 && name != path {
				continue
			}
			m := new(attr.Mapping)
			for _, k := range opts.By {
				if k.Attr() != "" {
					m.Keep(k.Attr())
				}
			}
			open := func() *ingest.Input { return ingest.Options{Mapping: m}.Open(path) }
			want := reportJSON(t, wholeSource{open()}, opts)
			if want == "" {
				continue
			}
			read++
			check.Equal(t, fmt.Sprintf("%s, %s: without fields that are not used", name, of),
				want, reportJSON(t, &strippedSource{wholeSource: wholeSource{open()}}, opts))
			check.Equal(t, fmt.Sprintf("%s, %s: with fields that are used", name, of), want, reportJSON(t, open(), opts))
		}
	}
	if read == 0 || cases.All() && read < 20 {
		t.Errorf("%d reports on samples", read)
	}
}
