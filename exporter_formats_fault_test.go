package optrace_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/race"
	"github.com/optrace/optrace/internal/spantest"
)

// Every offset at which the write of a batch can end, in every format: what is
// written in the end is readable, and the counts are exact.
func TestOutputFaultMatrix(t *testing.T) {
	for _, o := range outputs() {
		t.Run(o.String(), func(t *testing.T) {
			offsets := upTo(len(o.batchOf(t, 3)))
			if o.format == optrace.FormatEntries && o.compression != optrace.CompressionNone {
				offsets = offsets[:len(offsets)-10] // the writer's random id makes the size vary
			}
			few := len(offsets) > 4000 // the schema and the dictionaries of a stream are long
			for _, offset := range offsets {
				n := int(offset)
				if few && n > 24 && n < len(offsets)-24 && n%37 > 0 {
					continue
				}
				if race.Enabled && n%7 > 0 { // one goroutine: all of them tell no more of races
					continue
				}
				for name, fault := range map[string]func(int) (int, error){
					"error":       func(n int) (int, error) { return n, errDisk },
					"short write": func(n int) (int, error) { return n, nil },
				} {
					if (testing.Short() || name == "short write") && n%17 > 0 {
						continue
					}
					w := &spantest.FaultyWriter{N: n, Fault: fault}
					exp := newExporter(t, w, o.options()...)
					if err := exp.ExportSpans(t.Context(), spantest.Operations(3)); err == nil {
						t.Fatalf("%s at byte %d: no error", name, n)
					}
					if st := exp.Stats(); st.Written+st.Dropped > st.Recorded {
						t.Fatalf("%s at byte %d: stats %+v", name, n, st)
					}
					if err := exp.ExportSpans(t.Context(), spantest.Operations(2)); err != nil {
						t.Fatalf("%s at byte %d: the next batch fails: %v", name, n, err)
					}
					if err := exp.Shutdown(t.Context()); err != nil {
						t.Fatal(err)
					}
					st := exp.Stats()
					checkBooks(t, "exporter", st)
					got := o.steps(t, w.Bytes(), 1)
					if !slices.Equal(got[len(got)-2:], []int64{0, 1}) {
						t.Fatalf("%s at byte %d: the next batch brought %v", name, n, got)
					}
					switch {
					case !o.healsLines() && n > 0:
						// The rest went first.
						if diff := cmp.Diff([]int64{0, 1, 2, 0, 1}, got); diff != "" || st.Written != 5 {
							t.Fatalf("%s at byte %d: stats %+v, entries (-want +got):\n%s", name, n, st, diff)
						}
					case !o.healsLines() && (st.Written != 2 || len(got) != 2):
						t.Fatalf("%s at byte %d: stats %+v with entries %v", name, n, st, got)
					case uint64(len(got)) != st.Written && uint64(len(got)) != st.Written+1:
						// A line may lack nothing but its newline.
						t.Fatalf("%s at byte %d: %d count as written, %d are readable", name, n, st.Written, len(got))
					}
				}
			}
		})
	}
}

// A writer that takes a few bytes at a time and fails gets a batch in the end.
func TestOutputRestInPieces(t *testing.T) {
	for _, o := range outputs() {
		if o.healsLines() {
			continue
		}
		t.Run(o.String(), func(t *testing.T) {
			var out bytes.Buffer
			failures := 3
			exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
				if failures == 0 {
					return out.Write(p)
				}
				failures--
				n, _ := out.Write(p[:7])
				return n, errDisk
			}), o.options()...)
			for i := range 3 {
				if err := exp.ExportSpans(t.Context(), spantest.Operations(3)); !errors.Is(err, errDisk) {
					t.Fatalf("export %d returns %v", i, err)
				}
			}
			if st := exp.Stats(); st.Written != 0 || st.Dropped != 6 {
				t.Errorf("before the rest is through: stats %+v, want the two other batches dropped", st)
			}
			if err := exp.ExportSpans(t.Context(), spantest.Operations(1)); err != nil {
				t.Fatal(err)
			}
			if err := exp.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]int64{0, 1, 2, 0}, o.steps(t, out.Bytes(), 0)); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			checkBooks(t, "exporter", exp.Stats())
			if st := exp.Stats(); st.Written != 4 || st.Dropped != 6 {
				t.Errorf("stats %+v", st)
			}
		})
	}
}

// The rest of a batch is written by Shutdown, or counts as dropped.
func TestOutputRestAtShutdown(t *testing.T) {
	for _, o := range outputs() {
		if o.healsLines() {
			continue
		}
		for _, recovers := range []bool{true, false} {
			w := &spantest.FaultyWriter{N: 20, Fault: func(n int) (int, error) { return n, errDisk }, Broken: !recovers}
			exp := newExporter(t, w, o.options()...)
			proc := newProcessor(t, exp)
			for _, s := range spantest.Operations(3) {
				proc.OnEnd(s)
			}
			if err := proc.ForceFlush(t.Context()); !errors.Is(err, errDisk) {
				t.Errorf("%v: flushing returns %v", o, err)
			}
			if err := proc.Shutdown(t.Context()); recovers == (err != nil) {
				t.Errorf("%v: Shutdown returns %v with a writer that recovers: %v", o, err, recovers)
			}
			for what, st := range map[string]uint64{"exporter": exp.Stats().Written, "processor": proc.Stats().Written} {
				if want := map[bool]uint64{true: 3, false: 0}[recovers]; st != want {
					t.Errorf("%v: the %s counts %d as written, want %d", o, what, st, want)
				}
			}
			checkBooks(t, "exporter", exp.Stats())
			checkBooks(t, "processor", proc.Stats())
			if recovers {
				if got := slices.Sorted(slices.Values(o.steps(t, w.Bytes(), 0))); !slices.Equal(got, upTo(3)) {
					t.Errorf("%v: entries %v", o, got)
				}
			}
		}
	}
}

// A writer that takes everything and fails all the same has taken everything.
func TestOutputErrorAfterWholeBatch(t *testing.T) {
	for _, o := range outputs() {
		var out bytes.Buffer
		exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
			n, _ := out.Write(p)
			return n, errDisk
		}), o.options()...)
		if err := exp.ExportSpans(t.Context(), spantest.Operations(3)); !errors.Is(err, errDisk) {
			t.Errorf("%v: exporting returns %v", o, err)
		}
		_ = exp.Shutdown(t.Context())
		if st := exp.Stats(); st.Written != 3 || st.Dropped != 0 {
			t.Errorf("%v: stats %+v", o, st)
		}
		if got := o.steps(t, out.Bytes(), 0); len(got) != 3 {
			t.Errorf("%v: entries %v", o, got)
		}
	}
}
