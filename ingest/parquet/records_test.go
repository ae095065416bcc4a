package parquet_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest/parquet"
	"github.com/optrace/optrace/op"
	render "github.com/optrace/optrace/render/parquet"
)

// records are what a file holds, each of them copied.
type records struct {
	all  []op.Record
	bad  []string // what could not be read
	fail string   // what ended reading
}

// entries returns the entries among the records.
func (r *records) entries() []*op.Entry {
	var list []*op.Entry
	for _, rec := range r.all {
		if rec.Entry != nil {
			list = append(list, rec.Entry)
		}
	}
	return list
}

// read reads a whole file.
func read(t testing.TB, file []byte) *records {
	t.Helper()
	got := &records{}
	for rec, err := range parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "ops.parquet") {
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax):
			got.bad = append(got.bad, syntax.Msg)
		case err != nil:
			got.fail = err.Error()
		default:
			if rec.Entry != nil {
				if err := rec.Entry.Validate(); err != nil {
					t.Errorf("invalid entry %s: %v", rec.Entry.AppendJSON(nil), err)
				}
			}
			got.all = append(got.all, clone(rec))
		}
	}
	return got
}

// clone copies a record, which belongs to the reader.
func clone(rec op.Record) op.Record {
	switch {
	case rec.Entry != nil:
		rec.Entry = rec.Entry.Clone()
	case rec.Span != nil:
		rec.Span = rec.Span.Clone()
	case rec.Resource != nil:
		r := *rec.Resource
		r.Attrs = append([]op.Attr(nil), r.Attrs...)
		rec.Resource = &r
	case rec.Gap != nil:
		g := *rec.Gap
		rec.Gap = &g
	case rec.Batch != nil:
		b := *rec.Batch
		rec.Batch = &b
	}
	return rec
}

// write writes records as this project does.
func write(t testing.TB, all []op.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	w := render.NewWriter(&b)
	for _, rec := range all {
		if err := writeRecord(w, rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func writeRecord(w *render.Writer, rec op.Record) error {
	switch {
	case rec.Entry != nil:
		return w.Entry(rec.Entry)
	case rec.Span != nil:
		return w.Span(rec.Span)
	case rec.Resource != nil:
		return w.Resource(rec.Resource)
	case rec.Gap != nil:
		return w.Gap(rec.Gap)
	}
	return w.Batch(rec.Batch)
}

// randoms makes random records.
type randoms struct{ *rand.Rand }

func (r randoms) maybe() bool { return r.IntN(2) == 0 }

func (r randoms) number() op.Int {
	if r.maybe() {
		return op.Int{}
	}
	return op.Known(int64(r.Uint64() >> (1 + r.IntN(63))))
}

func (r randoms) text() string {
	words := []string{"", "", "matmul", "cuda:0", "a \"b\"\\\n", "é€😀", "\x00\x7f", strings.Repeat("long ", 20)}
	return words[r.IntN(len(words))]
}

func (r randoms) shape() op.Shape {
	if r.IntN(3) == 0 {
		return nil
	}
	s := op.Shape{}
	for range r.IntN(4) {
		s = append(s, r.Int64N(1000)-1)
	}
	return s
}

func (r randoms) id() (id op.SpanID) {
	for i := range id {
		id[i] = byte(1 + r.IntN(255))
	}
	return id
}

func (r randoms) attrs() []op.Attr {
	if r.maybe() {
		return nil
	}
	return []op.Attr{
		{Key: "a" + r.text(), Value: r.text()}, {Key: "b", Value: r.text()}, {Key: "n", Value: "7", Type: op.AttrInt},
		op.FloatAttr("f", r.NormFloat64()), {Key: "list", Value: `[1,2.0,{"bytesValue":"AAE="}]`, Type: op.AttrJSON},
	}[r.IntN(4):]
}

func (r randoms) links() (links []op.Link) {
	for range r.IntN(4) - 1 {
		links = append(links, op.Link{TraceID: op.TraceID{2, 15: byte(r.IntN(9))}, SpanID: r.id(), Weight: r.number()})
		if r.maybe() {
			links[0].Extra = &op.LinkExtra{Flags: 1, Attrs: r.attrs()}
		}
	}
	return links
}

func (r randoms) extra() *op.Extra {
	if r.maybe() {
		return nil
	}
	return &op.Extra{
		Kind: "server", Flags: r.Uint32(), TraceState: r.text(), Message: r.text(), Scope: op.Scope{Version: "1", Attrs: r.attrs()},
		Events: []op.Event{{Name: r.text(), Time: r.number(), Attrs: r.attrs()}},
	}
}

func (r randoms) entry() *op.Entry {
	e := &op.Entry{
		Step: r.number(), Operation: "op" + r.text(), Path: r.text(), DeviceID: r.text(), Stream: r.number(), Rank: r.number(),
		Kind: op.Kind(1 + r.IntN(int(op.KindControl))), KindRule: op.KindRule(r.IntN(int(op.RuleDefault) + 1)),
		OutputShape: r.shape(), DType: []op.DType{"", op.F32, "odd type"}[r.IntN(3)],
		Start: op.Known(int64(r.Uint64() >> 2)), Duration: int64(r.Uint64() >> (2 + r.IntN(62))), Launch: r.number(),
		OutputElements: r.number(), MemoryBytes: r.number(), FLOPs: r.number(),
		Root: r.text(), Service: r.text(), Scope: r.text(), Attrs: r.attrs(), Links: r.links(), Extra: r.extra(),
		DroppedAttributes: r.Int64N(3), Warn: op.Warning(r.IntN(int(op.WarnDroppedLinks) << 1)),
	}
	if e.DType == "odd type" {
		e.Warn |= op.WarnUnknownDType // as a reader finds out again
	}
	if r.maybe() {
		e.InputShapes = []op.Shape{}
		for range r.IntN(4) {
			e.InputShapes = append(e.InputShapes, r.shape())
		}
	}
	if r.maybe() {
		e.InputDTypes = []op.DType{}
		for range r.IntN(4) {
			e.InputDTypes = append(e.InputDTypes, []op.DType{op.F32, "", "int4"}[r.IntN(3)])
		}
	}
	if r.maybe() {
		e.TraceID, e.SpanID, e.ParentSpanID, e.RootSpanID = op.TraceID{1, 15: byte(r.IntN(9))}, r.id(), r.id(), r.id()
	}
	if r.maybe() {
		e.Failed, e.Error = true, r.text()
	}
	if r.maybe() {
		e.Collective = &op.Collective{Name: r.text(), Group: r.text(), GroupSize: r.number(), Sequence: r.number(), PeerRank: r.number(),
			InElements: r.number(), OutElements: r.number()}
	}
	if r.maybe() {
		e.AdjustedCount = 1 + r.ExpFloat64()
	}
	if r.maybe() {
		e.Side = op.SideHost
	}
	return e
}

func (r randoms) record() op.Record {
	switch r.IntN(8) {
	case 0:
		return op.Record{Span: &op.Span{
			Name: r.text(), TraceID: op.TraceID{7}, SpanID: r.id(), ParentSpanID: r.id(), RemoteParent: r.maybe(),
			Start: op.Known(r.Int64N(1 << 60)), Duration: r.Int64N(1 << 40), Service: r.text(), Failed: r.maybe(),
			Attrs: r.attrs(), Links: r.links(), Extra: r.extra(),
		}}
	case 1:
		return op.Record{Resource: &op.Resource{Service: r.text(), Rank: r.number(), WorldSize: r.number(), Attrs: r.attrs()}}
	case 2:
		return op.Record{Gap: &op.Gap{Dropped: r.Int64N(100), Reason: r.text()}}
	case 3:
		return op.Record{Batch: &op.Batch{Writer: r.text(), Sequence: r.Int64N(100), Entries: r.Int64N(100)}}
	}
	return op.Record{Entry: r.entry()}
}

// What is written reads back as it was, record by record.
func TestRoundTrip(t *testing.T) {
	r := randoms{rand.New(rand.NewPCG(1, 2))}
	for _, n := range []int{0, 1, 2, 255, 256, 257, 5000} {
		want := make([]op.Record, n)
		for i := range want {
			want[i] = r.record()
		}
		got := read(t, write(t, want))
		if got.fail != "" || len(got.bad) > 0 {
			t.Fatalf("%d records: %q, %q", n, got.bad, got.fail)
		}
		if diff := cmp.Diff(want, append([]op.Record{}, got.all...)); diff != "" {
			t.Fatalf("%d records read back (-want +got):\n%s", n, diff)
		}
	}
}

// Entries that differ in nothing take next to no space, and are still all there.
func TestRoundTripOfRowGroups(t *testing.T) {
	e := randoms{rand.New(rand.NewPCG(3, 4))}.entry()
	const n = 133_000 // two row groups
	var b bytes.Buffer
	w := render.NewWriter(&b)
	for i := range int64(n) {
		e.Step = op.Known(i)
		if err := w.Entry(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	i := int64(0)
	for rec, err := range parquet.RecordsAt(bytes.NewReader(b.Bytes()), int64(b.Len()), "ops.parquet") {
		if err != nil {
			t.Fatal(err)
		}
		e.Step = op.Known(i)
		if i%1000 == 0 && !cmp.Equal(e, rec.Entry) {
			t.Fatalf("entry %d (-want +got):\n%s", i, cmp.Diff(e, rec.Entry))
		}
		i++
	}
	if i != n {
		t.Errorf("%d entries, want %d", i, n)
	}
}

// A consumer may stop at any record.
func TestStop(t *testing.T) {
	r := randoms{rand.New(rand.NewPCG(5, 6))}
	file := write(t, []op.Record{r.record(), r.record(), r.record()})
	for stop := 1; stop <= 3; stop++ {
		n := 0
		for range parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "ops.parquet") {
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Errorf("%d records, want %d", n, stop)
		}
	}
}
