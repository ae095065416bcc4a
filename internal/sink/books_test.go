package sink

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/encoding"
	"github.com/optrace/optrace/internal/encoding/entries"
	"github.com/optrace/optrace/internal/encoding/otlp"
	"github.com/optrace/optrace/internal/span"
	"github.com/optrace/optrace/internal/traces"
	"github.com/optrace/optrace/op"
)

// batch returns a batch of n operations.
func batch(f encoding.Format, n int) *encoding.Batch {
	b := encoding.NewBatch(0)
	enc := f.NewEncoder(nil, 0)
	for i := range n {
		start := time.Unix(1_700_000_000, int64(i))
		d := &span.Data{
			Name: "matmul", Start: start, End: start.Add(time.Second), Attrs: []attribute.KeyValue{attribute.Int(op.KeyStep, i)},
			Context: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{byte(i + 1)}}),
		}
		d.Attrs = append(d.Attrs, attribute.String(op.KeyName, "matmul"))
		enc.Add(b, span.Ended{Data: d, Context: d.Context}, new(traces.WithOps))
	}
	return b
}

var errFull = errors.New("full")

// disk takes as many bytes as there is room for.
type disk struct {
	bytes.Buffer
	room int
}

func (d *disk) Write(p []byte) (int, error) {
	n, _ := d.Buffer.Write(p[:min(len(p), d.room)])
	d.room -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

// Whatever a writer takes, the books are right at every moment: what was handed over
// is written, dropped or under way. In the end what counts as written can be read,
// and gaps tell of what was dropped.
func TestBooks(t *testing.T) {
	for _, tt := range []struct {
		format      encoding.Format
		compression Compression
	}{
		{entries.Format, None}, {otlp.Proto, None}, {otlp.JSON, None}, {entries.Format, Gzip}, {entries.Format, Zstd},
	} {
		f := tt.format
		t.Run(f.Name()+" "+tt.compression.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, 2))
				out := &disk{}
				s, err := New(ToWriter(out), f, tt.compression, nil)
				if err != nil {
					t.Fatal(err)
				}
				given, recycled := uint64(0), uint64(0)
				for step := range 1000 {
					if rng.IntN(3) == 0 {
						out.room = rng.IntN(3000)
					}
					if rng.IntN(10) == 0 {
						time.Sleep(time.Minute) // the breaker lets one through
					}
					b := batch(f, 1+rng.IntN(8))
					given += uint64(b.Entries)
					if rng.IntN(5) == 0 {
						given += 3
						s.Drop("queue_full", 3)
						recycled += 3
					}
					if err := s.Acquire(t.Context()); err != nil {
						t.Fatal(err)
					}
					// Errors are those of the disk.
					_ = s.Submit(t.Context(), b, func(b *encoding.Batch) { recycled += uint64(b.Entries) })
					st := s.Stats()
					if st.Written+st.Dropped+st.Underway != given || st.Written+st.Dropped != recycled {
						t.Fatalf("step %d: the books say %+v, %d were given and %d given back", step, st, given, recycled)
					}
				}
				out.room = 1 << 30
				if err := s.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
				st := s.Stats()
				if st.Written == 0 || st.Dropped == 0 || st.Written+st.Dropped != given || st.Underway != 0 {
					t.Errorf("the books say %+v, %d were given", st, given)
				}
				if f != entries.Format {
					if n, err := f.Whole(bytes.NewReader(out.Bytes()), 0, int64(out.Len())); err != nil || n != int64(out.Len()) {
						t.Errorf("%d bytes of %d are whole messages, %v", n, out.Len(), err)
					}
					return
				}
				checkLines(t, tt.compression, out.Bytes(), st)
			})
		})
	}
}

// checkLines fails unless the lines hold what the books say. Some are cut off.
func checkLines(t *testing.T, c Compression, text []byte, st Stats) {
	t.Helper()
	if c != None {
		z, err := c.decompress(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		if text, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	written, lost, sequence := uint64(0), uint64(0), int64(-1)
	for rec, err := range op.NewReader(bytes.NewReader(text), "out").Records() {
		switch {
		case err != nil: // a line that was cut off
		case rec.Entry != nil:
			written++
		case rec.Gap != nil:
			lost += uint64(rec.Gap.Dropped)
		case rec.Batch != nil:
			if rec.Batch.Sequence != sequence+1 && rec.Batch.Sequence != sequence+2 { // its record may be cut off
				t.Errorf("batch %d follows batch %d", rec.Batch.Sequence, sequence)
			}
			sequence = rec.Batch.Sequence
		}
	}
	if written != st.Written || lost != st.Dropped {
		t.Errorf("%d operations and gaps of %d can be read, the books say %+v", written, lost, st)
	}
}

// Wherever a write ends, what follows can be read, and each entry is written or told of
// once.
func TestEveryCut(t *testing.T) {
	size := 0
	for cut := 0; cut <= size; cut++ {
		out := &disk{room: cut}
		s, err := New(ToWriter(out), entries.Format, None, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Drop("queue_full", 5)
		writeBatch(t, s, batch(entries.Format, 2))
		out.room = 1 << 30
		writeBatch(t, s, batch(entries.Format, 3))
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if st := s.Stats(); st.Written+st.Dropped != 10 || st.Written < 3 {
			t.Errorf("cut after %d bytes: the books say %+v", cut, st)
		}
		checkLines(t, None, out.Bytes(), s.Stats())
		if cut > 0 && (out.Bytes()[0] == '\n' || bytes.Contains(out.Bytes(), []byte("\n\n"))) {
			t.Errorf("cut after %d bytes: there is an empty line", cut)
		}
		size = out.Len()
		if cut > 2000 {
			break
		}
	}
}

func writeBatch(t *testing.T, s *Sink, b *encoding.Batch) {
	t.Helper()
	if err := s.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = s.Submit(t.Context(), b, nil) // errors are those of the disk
}

// Nothing is written without need: no batch at the end, and a header only where the
// resource is another one.
func TestNothingNeedless(t *testing.T) {
	out := &disk{room: 1 << 30}
	s, err := New(ToWriter(out), entries.Format, None, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, service := range []string{"a", "a", "b", "a"} {
		b := batch(entries.Format, 2)
		set := attribute.NewSet(attribute.String("service.name", service))
		id := set.Equivalent()
		b.First, b.Last, b.FirstResource = id, id, &op.Resource{Service: service}
		writeBatch(t, s, b)
		want = append(want, service, service)
	}
	before := out.Len()
	if err := s.Shutdown(t.Context()); err != nil || out.Len() != before {
		t.Errorf("Shutdown writes %d bytes, %v", out.Len()-before, err)
	}
	if err := s.Shutdown(t.Context()); err != nil || out.Len() != before {
		t.Errorf("the second Shutdown writes %d bytes, %v", out.Len()-before, err)
	}
	headers := strings.Count(out.String(), `{"schema"`)
	var got []string
	from := ""
	for rec, err := range op.NewReader(&out.Buffer, "out").Records() {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Resource != nil {
			from = rec.Resource.Service
		}
		if rec.Entry != nil {
			got = append(got, from)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("operations come from %v, want %v", got, want)
	}
	if headers != 3 {
		t.Errorf("%d headers, want 3", headers)
	}
}

func TestCompressionNames(t *testing.T) {
	for c, want := range map[Compression]string{None: "none", Gzip: "gzip", Zstd: "zstd", 7: "Compression(7)"} {
		if got := c.String(); got != want {
			t.Errorf("compression %d is %q", c, got)
		}
	}
	if _, err := New(ToWriter(&disk{}), entries.Format, 7, nil); err == nil || !strings.Contains(err.Error(), "unknown compression 7") {
		t.Errorf("New with an unknown compression returns %v", err)
	}
}

// moved is a target whose file is taken away after each write.
type moved struct{ Target }

func (moved) Continue() (bool, error) { return false, nil }

// short is a writer that takes a part and says nothing of the rest.
type short struct{ disk }

func (w *short) Write(p []byte) (int, error) {
	n, _ := w.disk.Write(p)
	return n, nil
}

// The rest of a message whose file was taken away is dropped, and the next one written.
func TestRestOfAFileTakenAway(t *testing.T) {
	for taken, want := range map[bool]Stats{false: {Written: 5}, true: {Written: 3, Dropped: 2}} {
		out := &short{disk{room: 20}}
		to := ToWriter(out)
		if taken {
			to = moved{to}
		}
		s, err := New(to, otlp.Proto, None, nil)
		if err != nil {
			t.Fatal(err)
		}
		writeBatch(t, s, batch(otlp.Proto, 2))
		if st := s.Stats(); st != (Stats{Underway: 2}) {
			t.Errorf("after a write in part the books say %+v", st)
		}
		out.room = 1 << 30
		writeBatch(t, s, batch(otlp.Proto, 3))
		if st := s.Stats(); st != want {
			t.Errorf("the file was taken away: %v; the books say %+v, want %+v", taken, st, want)
		}
	}
}
