package sink

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/encoding/entries"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
)

// For any writer the counts are right at every moment: every entry is written, dropped or under way. In the end the
// written entries can be read, and gaps tell of the dropped ones.
func TestBooks(t *testing.T) {
	for _, o := range outputs {
		t.Run(o.String(), func(t *testing.T) {
			steps := cases.Count(t, 300, 1000)
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, 2))
				out := &disk{}
				s := o.open(t, ToWriter(out))
				given := uint64(0)
				recycled := uint64(0)
				for step := range steps {
					if rng.IntN(3) == 0 {
						out.room = rng.IntN(3000)
					}
					if rng.IntN(10) == 0 {
						time.Sleep(time.Minute) // the breaker lets one through
					}
					b := batch(o.format, 1+rng.IntN(8))
					given += uint64(b.Entries)
					if rng.IntN(5) == 0 {
						given += 3
						s.Drop("queue_full", 3)
						recycled += 3
					}
					check.OK(t, s.Acquire(t.Context()))
					// The errors are the disk's.
					_ = s.Submit(t.Context(), b, func(b *encoding.Batch) { recycled += uint64(b.Entries) })
					st := s.Stats()
					if st.Written+st.Dropped+st.Underway != given || st.Written+st.Dropped != recycled {
						t.Fatalf("step %d: the books say %+v, %d were given and %d given back", step, st, given,
							recycled)
					}
				}
				out.room = 1 << 30
				check.OK(t, s.Shutdown(t.Context()))
				st := s.Stats()
				rec := spantest.Read(t, out.Bytes())
				checkEnd(t, st, given)
				if st.Written == 0 || st.Dropped == 0 || uint64(len(rec.Entries)) != st.Written {
					t.Errorf("the books say %+v, %d operations can be read", st, len(rec.Entries))
				}
				if !o.healsLines() && len(rec.Malformed) > 0 {
					t.Errorf("%v", rec.Malformed)
				}
				if o.format != entries.Format {
					return
				}
				check.Equal(t, fmt.Sprintf("the books say %+v, gaps tell", st), st.Dropped, rec.Lost())
				sequence := int64(-1)
				for _, b := range rec.Batches {
					if b.Sequence != sequence+1 && b.Sequence != sequence+2 { // its record may be cut off
						t.Errorf("batch %d follows batch %d", b.Sequence, sequence)
					}
					sequence = b.Sequence
				}
			})
		})
	}
}

// No batch is written at the end without need, and a header only after a change of the resource.
func TestNothingNeedless(t *testing.T) {
	out := &disk{room: 1 << 30}
	s := output{entries.Format, None}.open(t, ToWriter(out))
	var want []string
	for _, services := range []string{"aa", "aa", "bb", "aab", "bb", "aa"} {
		var spans []sdktrace.ReadOnlySpan
		for i, service := range services {
			stub := spantest.Operation(i)
			stub.Resource = spantest.Service(string(service))
			spans = append(spans, stub.Snapshot())
			want = append(want, string(service))
		}
		check.OK(t, submit(s, batchOf(entries.Format, spans...)))
	}
	before := out.Len()
	shutdown(t, s)
	shutdown(t, s)
	check.Equal(t, "bytes after two Shutdowns", before, out.Len())
	rec := spantest.ReadWhole(t, out.Bytes())
	var got []string
	for _, e := range rec.Entries {
		got = append(got, e.Service)
	}
	check.Equal(t, "operations come from", want, got)
	check.Equal(t, "headers: the fifth batch goes on with what the fourth ended with", 5, len(rec.Resources))
}

func TestCompressionNames(t *testing.T) {
	for c, want := range map[Compression]string{None: "none", Gzip: "gzip", Zstd: "zstd", 7: "Compression(7)"} {
		check.Equal(t, fmt.Sprintf("compression %d", c), want, c.String())
	}
	_, err := New(ToWriter(&disk{}), entries.Format, 7, nil)
	check.Says(t, "New with an unknown compression", "unknown compression 7", err)
}
