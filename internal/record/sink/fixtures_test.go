package sink

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/encoding/entries"
	"github.com/optrace/optrace/internal/record/encoding/otlp"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
)

// output is a format with a compression.
type output struct {
	format      encoding.Format
	compression Compression
}

func (o output) String() string { return o.format.Name() + " " + o.compression.String() }

// lines reports whether a newline heals a truncated record.
func (o output) lines() bool {
	_, ok := o.format.(encoding.Lines)
	return o.compression == None && ok
}

// healsLines reports whether a truncated record is given up, up to its last whole line. Other outputs write the rest
// later.
func (o output) healsLines() bool { return o.compression == None && o.format.Name() == "entries" }

var outputs = []output{
	{entries.Format, None}, {entries.Format, Gzip}, {entries.Format, Zstd},
	{otlp.JSON, None}, {otlp.JSON, Gzip}, {otlp.JSON, Zstd},
	{otlp.Proto, None}, {otlp.Proto, Gzip}, {otlp.Proto, Zstd},
}

// open returns a sink of o to a target.
func (o output) open(tb testing.TB, to Target) *Sink {
	tb.Helper()
	return check.Must(New(to, o.format, o.compression, nil))(tb)
}

// written returns a sink's output for two batches of the given numbers of operations.
func (o output) written(tb testing.TB, n, m int) (first, second []byte) {
	tb.Helper()
	var out bytes.Buffer
	s := o.open(tb, ToWriter(&out))
	write := func(n int) []byte {
		out.Reset()
		check.OK(tb, submit(s, batch(o.format, n)))
		return bytes.Clone(out.Bytes())
	}
	return write(n), write(m)
}

// batch returns a batch of n operations.
func batch(f encoding.Format, n int) *encoding.Batch { return batchOf(f, spantest.Operations(n)...) }

// batchOf returns a batch of spans.
func batchOf(f encoding.Format, spans ...sdktrace.ReadOnlySpan) *encoding.Batch {
	b := encoding.NewBatch(0)
	enc := f.NewEncoder(nil, 0)
	withOps := new(traces.WithOps)
	for _, s := range spans {
		if _, err := encoding.AddSpan(enc, b, s, withOps); err != nil {
			panic(err)
		}
	}
	return b
}

// submit writes a batch.
func submit(s *Sink, b *encoding.Batch) error {
	if err := s.Acquire(context.Background()); err != nil {
		return err
	}
	return s.Submit(context.Background(), b, nil)
}

// checkEnd checks the sum of written and dropped entries after Shutdown.
func checkEnd(tb testing.TB, st Stats, n uint64) {
	tb.Helper()
	if st.Underway != 0 || st.Written+st.Dropped != n {
		tb.Errorf("the books say %+v, %d were given", st, n)
	}
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

func BenchmarkSubmit(b *testing.B) {
	for _, o := range []output{{entries.Format, None}, {entries.Format, Zstd}, {otlp.Proto, None}} {
		b.Run(o.String(), func(b *testing.B) {
			s := o.open(b, ToWriter(io.Discard))
			full := batch(o.format, 1000)
			b.SetBytes(int64(len(full.Body())))
			for b.Loop() {
				check.OK(b, submit(s, full))
			}
		})
	}
}

// TestMain fails where a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAwait(t *testing.T) {
	errWork := errors.New("work")
	for _, tt := range []struct {
		name           string
		timeout, takes time.Duration
		want           error
	}{
		{"in time", time.Second, time.Millisecond, errWork},
		{"in the grace", time.Second, 1050 * time.Millisecond, errWork},
		{"done before", 0, 50 * time.Millisecond, errWork},
		{"too late", time.Second, time.Minute, context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
				defer cancel()
				err := Await(ctx, 100*time.Millisecond, func() error { time.Sleep(tt.takes); return errWork })
				check.Is(t, "", tt.want, err)
				time.Sleep(tt.takes)
			})
		})
	}
}
