package sink

import (
	"bytes"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/encoding/entries"
	"github.com/optrace/optrace/internal/record/encoding/otlp"
	"github.com/optrace/optrace/internal/record/rotate"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
)

// openFile returns a sink of o to the file at path.
func (o output) openFile(path string, limits rotate.Limits) (*Sink, error) {
	f, err := rotate.Open(path, limits, Inspect(o.format, o.compression))
	if err != nil {
		return nil, err
	}
	return New(f, o.format, o.compression, nil)
}

// file is openFile for an accepted file.
func (o output) file(t *testing.T, path string, limits rotate.Limits) *Sink {
	t.Helper()
	return check.Must(o.openFile(path, limits))(t)
}

// export writes the operations with the steps from to to-1, as one batch.
func (o output) export(t *testing.T, s *Sink, from, to int) {
	t.Helper()
	var spans []sdktrace.ReadOnlySpan
	for i := from; i < to; i++ {
		spans = append(spans, spantest.Operation(i).Snapshot())
	}
	check.OK(t, submit(s, batchOf(o.format, spans...)))
}

// exportTo appends operations with the steps from to to-1 to the file at path, as a process of its own does.
func (o output) exportTo(t *testing.T, path string, from, to int) {
	t.Helper()
	s := o.file(t, path, rotate.Limits{})
	o.export(t, s, from, to)
	shutdown(t, s)
}

func shutdown(t *testing.T, s *Sink) {
	t.Helper()
	check.OK(t, s.Shutdown(t.Context()))
}

func writeFile(t *testing.T, path string, text []byte) {
	t.Helper()
	check.OK(t, os.WriteFile(path, text, 0o600))
}

// stepsIn returns the steps in the files of dir, in the order of their names.
func stepsIn(t *testing.T, dir string) (steps []int64) {
	t.Helper()
	_, contents := check.Files(t, dir)
	for _, text := range contents {
		steps = append(steps, spantest.Read(t, text).Steps()...)
	}
	return steps
}

// Another process renames, removes, empties or replaces the file. The next records go to a file under the sink's name,
// readable by itself.
func TestFileTakenAway(t *testing.T) {
	takings := map[string]func(path string) error{
		"renamed": func(path string) error { return os.Rename(path, path+".1") },
		"removed": os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"replaced": func(path string) error {
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.Rename(path, path+".1")
			}
			if err == nil {
				err = os.WriteFile(path, text, 0o600)
			}
			return err
		},
	}
	for _, o := range outputs {
		for name, take := range takings {
			t.Run(o.String()+" "+name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "ops.x")
				s := o.file(t, path, rotate.Limits{})
				o.export(t, s, 0, 2)
				if err := take(path); err != nil {
					_ = s.Shutdown(t.Context())
					t.Skip("an open file cannot be taken away here:", err)
				}
				o.export(t, s, 0, 3)
				o.export(t, s, 0, 1)
				shutdown(t, s)
				want := []int64{0, 1, 2, 0}
				if name == "replaced" {
					want = append([]int64{0, 1}, want...)
				}
				text := check.Must(os.ReadFile(path))(t)
				rec := spantest.ReadWhole(t, text)
				if diff := cmp.Diff(want, rec.Steps()); diff != "" || len(rec.Resources) == 0 {
					t.Errorf("%d headers, operations (-want +got):\n%s", len(rec.Resources), diff)
				}
				if name == "renamed" {
					check.Equal(t, "operations in both files", []int64{0, 1, 2, 0, 0, 1},
						stepsIn(t, filepath.Dir(path)))
				}
			})
		}
	}
}

// W4: Others append between two batches. Whole batches change nothing; a truncated one costs only itself. Behind a torn
// line a batch begins with a newline, behind another torn batch in a new file.
func TestTornTailOfANeighbour(t *testing.T) {
	for _, o := range outputs {
		whole, _ := o.written(t, 2, 1)
		for name, tails := range map[string][][]byte{"whole": {whole}, "torn": {whole[:len(whole)/2], whole[:7]}} {
			t.Run(o.String()+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "ops.x")
				s := o.file(t, path, rotate.Limits{})
				const rounds = 5
				for i := range rounds {
					o.export(t, s, 10+i, 11+i)
					f := check.Must(os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0))(t)
					check.Must(f.Write(tails[i%len(tails)]))(t)
					check.OK(t, f.Close())
				}
				o.export(t, s, 10+rounds, 11+rounds)
				shutdown(t, s)
				want := map[bool]int{true: 1, false: rounds + 1}[name == "whole" || o.lines()]
				names, contents := check.Files(t, dir)
				if len(names) != want {
					t.Errorf("files %q, want %d", names, want)
				}
				if name == "torn" && !o.lines() { // the files end as they were left
					for i := range contents[:rounds] {
						contents[i] = bytes.TrimSuffix(contents[i], tails[i%len(tails)])
					}
				}
				times := make(map[int64]int)
				for _, text := range contents {
					for _, step := range spantest.Read(t, text).Steps() {
						times[step]++
					}
				}
				for i := range int64(rounds + 1) {
					check.Equal(t, fmt.Sprintf("operation %d is there: times", 10+i), 1, times[10+i])
				}
				if name == "whole" && times[0] != rounds {
					t.Errorf("the neighbour's operation is there %d times, want %d", times[0], rounds)
				}
			})
		}
	}
}

// A process was killed within its second batch. The next one loses no whole batch and changes no existing byte: it ends
// a line, or renames any other torn file. A constructor changes no file.
func TestReopenAfterKill(t *testing.T) {
	for _, o := range outputs {
		t.Run(o.String(), func(t *testing.T) {
			first, second := o.written(t, 2, 3)
			for n := range cases.Some(t, 12, len(second)) {
				dir := t.TempDir()
				path := filepath.Join(dir, "ops.x")
				torn := append(bytes.Clone(first), second[:n]...)
				writeFile(t, path, torn)
				shutdown(t, o.file(t, path, rotate.Limits{MaxBytes: 1}))
				if names, contents := check.Files(t, dir); len(names) != 1 || !bytes.Equal(contents[0], torn) {
					t.Fatalf("killed at byte %d: opening changes the files %q", n, names)
				}
				o.exportTo(t, path, 0, 1)
				names, contents := check.Files(t, dir)
				switch {
				case n == 0:
					if diff := cmp.Diff([]int64{0, 1, 0}, stepsIn(t, dir)); diff != "" || len(names) != 1 {
						t.Fatalf("appended to a whole file: files %q, operations (-want +got):\n%s", names, diff)
					}
				case !o.lines():
					if len(names) != 2 || !bytes.Equal(contents[0], torn) {
						t.Fatalf("killed at byte %d: files %q, want the torn one as it was and a new one", n, names)
					}
					if got := spantest.ReadWhole(t, contents[1]).Steps(); len(got) != 1 {
						t.Fatalf("killed at byte %d: the new file holds %v", n, got)
					}
				default:
					rec := spantest.Read(t, contents[0])
					ended := append(bytes.TrimSuffix(torn, []byte("\n")), '\n')
					if got := rec.Steps(); len(names) != 1 || len(got) < 3 || got[len(got)-1] != 0 ||
						len(rec.Malformed) > 1 || !bytes.HasPrefix(contents[0], ended) {
						t.Fatalf("killed at byte %d: files %q, operations %v, %v", n, names, got, rec.Malformed)
					}
				}
			}
		})
	}
}

// W3: Writes that would make a file unreadable are refused, and so are foreign files, even later ones. They stay
// unchanged.
func TestForeignFilesAreRefused(t *testing.T) {
	contents := map[string]string{
		"notes":     "# Hi\nmy notes are here, and they are long enough\n",
		"program":   "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00",
		"table":     "step,operation\n1,matmul\n",
		"document":  "{\n  \"name\": \"optrace\",\n  \"step\": 1\n}\n",
		"JSON list": `[{"step":1}]`,
		"Parquet":   "PAR1\x15\x04\x15\x80\x01\x15\x80PAR1",
		"log":       "2026-01-01 hello\n2026-01-02 bye\n",
		"logs":      `{"resourceLogs":[]}` + "\n",
		"zeros":     string(make([]byte, 5000)),
	}
	for _, o := range outputs {
		text, _ := o.written(t, 2, 1)
		contents[o.String()] = string(text)
	}
	for _, o := range outputs {
		for name, content := range contents {
			path := filepath.Join(t.TempDir(), "ops.x")
			writeFile(t, path, []byte(content))
			s, err := o.openFile(path, rotate.Limits{})
			if (err == nil) != (name == o.String()) {
				t.Errorf("%v is opened to append %v: %v", name, o, err)
			}
			if err == nil {
				shutdown(t, s)
				continue
			}
			check.OK(t, os.Rename(path, path+".later"))
			s = o.file(t, path, rotate.Limits{})
			if err := os.Rename(path+".later", path); err != nil {
				t.Skip("an open file cannot be replaced here:", err)
			}
			check.Says(t, fmt.Sprintf("%v is appended to %s", o, name), "", submit(s, batch(o.format, 1)))
			_ = s.Shutdown(t.Context()) // the gap finds no place either
			check.Equal(t, fmt.Sprintf("%v: the books say", o), Stats{Dropped: 1}, s.Stats())
			if names, found := check.Files(t, filepath.Dir(path)); len(names) != 1 || string(found[0]) != content {
				t.Errorf("%v: files %q have changed", o, names)
			}
		}
	}
}

// W3: A damaged file of the sink stays unchanged, and a new one is started beside it.
func TestDamagedFilesStayUnchanged(t *testing.T) {
	for _, f := range []encoding.Format{entries.Format, otlp.JSON, otlp.Proto} {
		o := output{f, None}
		first, second := o.written(t, 2, 3)
		damages := map[string]func(text []byte){"start": func(text []byte) { clear(text[:40]) }}
		if !o.lines() {
			damages = map[string]func(text []byte){
				"first length": func(text []byte) { text[0] ^= 0x80 },
				"later length": func(text []byte) { text[len(first)+1] ^= 1 },
			}
			for mask := 1; mask < 1<<8; mask++ { // S6: the file is still known for the exporter's own
				if bits.OnesCount(uint(mask)) <= 2 || cases.All() {
					damages[fmt.Sprintf("tag %08b", mask)] = func(text []byte) { text[4] ^= byte(mask) }
				}
			}
		}
		for name, damage := range damages {
			t.Run(o.String()+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "ops.x")
				text := slices.Concat(first, second)
				damage(text)
				writeFile(t, path, text)
				o.exportTo(t, path, 9, 10)
				names, contents := check.Files(t, dir)
				if len(names) != 2 || !bytes.Equal(contents[0], text) {
					t.Fatalf("files %q, want the damaged one as it was and another", names)
				}
				check.Equal(t, "operations", []int64{9}, spantest.ReadWhole(t, contents[1]).Steps())
			})
		}
	}
}

// Files of random sizes hold every operation in the order of their names. Each is readable by itself, and only a single
// batch makes one too large. The total stays within its bound, and batch numbers continue from file to file.
func TestRotationProperties(t *testing.T) {
	const perBatch = 8
	for _, o := range outputs {
		t.Run(o.String(), func(t *testing.T) {
			for seed := range cases.Some(t, 2, 20) {
				r := rand.New(rand.NewPCG(uint64(seed), 0))
				dir := t.TempDir()
				path := filepath.Join(dir, "ops.x")
				limits := rotate.Limits{MaxBytes: int64(500 + r.IntN(8000))}
				if seed%2 == 1 {
					limits.MaxTotal = limits.MaxBytes + r.Int64N(4*limits.MaxBytes)
				}
				step := 0
				for range 1 + r.IntN(3) { // restarts
					s := o.file(t, path, limits)
					for range 1 + r.IntN(25) {
						n := 1 + r.IntN(perBatch)
						o.export(t, s, step, step+n)
						step += n
						_, contents := check.Files(t, dir)
						total := int64(len(slices.Concat(contents...)))
						current := int64(len(contents[len(contents)-1]))
						if limits.MaxTotal > 0 && total > max(limits.MaxTotal, current) {
							t.Fatalf("%d bytes in all, the bound is %d", total, limits.MaxTotal)
						}
					}
					shutdown(t, s)
				}
				var all spantest.Recording
				names, contents := check.Files(t, dir)
				for i, text := range contents {
					rec := spantest.ReadWhole(t, text)
					if len(text) > int(limits.MaxBytes) && len(rec.Entries) > perBatch || len(rec.Resources) == 0 {
						t.Errorf("%s has %d headers and %d bytes, the limit is %d", names[i], len(rec.Resources),
							len(text), limits.MaxBytes)
					}
					all.Entries = append(all.Entries, rec.Entries...)
					all.Batches = append(all.Batches, rec.Batches...)
					all.InBatch = append(all.InBatch, rec.InBatch...)
				}
				want := spantest.UpTo(step)
				if limits.MaxTotal > 0 {
					want = want[step-len(all.Entries):] // the oldest are gone
				} else {
					all.CheckBatches(t)
				}
				if diff := cmp.Diff(want, all.Steps()); diff != "" {
					t.Fatalf("operations (-want +got):\n%s", diff)
				}
			}
		})
	}
}
