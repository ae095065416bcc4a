package ingest_test

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// inOrder returns what InOrder hands out, with the error that ends it.
func inOrder(in *ingest.Input, size, workers int) iter.Seq2[op.Record, error] {
	in.SetPartSize(size)
	return func(yield func(op.Record, error) bool) {
		err := in.InOrder(workers, func(rec op.Record, err error) error {
			if !yield(rec, err) {
				panic("the transcript ended")
			}
			return nil
		})
		if err != nil {
			yield(op.Record{}, err)
		}
	}
}

// batchesOf returns entries of several writers, with headers and damaged lines.
func batchesOf(_ *testing.T, rng *rand.Rand) []byte {
	var b strings.Builder
	for n := range 60 {
		w := rng.IntN(3)
		header := fmt.Sprintf(`{"schema":"optrace.entries/v1","resource":{"service":"s%d","attrs":{"host.name":"h%d"}}}`+"\n", w, w)
		if n == 0 || rng.IntN(6) == 0 {
			b.WriteString(header)
		}
		fmt.Fprintf(&b, `{"batch":{"writer":"w%d","seq":%d,"entries":2}}`+"\n", w, n)
		if rng.IntN(6) == 0 {
			b.WriteString(header)
		}
		for range rng.IntN(5) {
			fmt.Fprintf(&b, partsEntry+"\n", n)
		}
		b.WriteString([]string{"", "", "", "nonsense\n", "\n", `{"gap":{"dropped":1,"reason":"queue_full"}}` + "\n",
			`{"span":{"name":"POST /","duration_ns":9}}` + "\n", `{"schema":"optrace.entries/v1"}` + "\n"}[rng.IntN(8)])
	}
	return []byte(b.String())
}

// Whatever the number of workers and the size of the parts, the records are those of one
// pass, in its order, and so are what the entries of several files inherit.
func TestInOrder(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	kinds := []func(*testing.T, *rand.Rand) []byte{batchesOf, jsonDocuments, protoMessage, printedSpans}
	for seed := range cases.Numbers(t, 200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		for i, name := range []string{"a", "b"} {
			text := kinds[(int(seed)+i*rng.IntN(2))%len(kinds)](t, rng)
			if rng.IntN(2) == 0 {
				text = damage(rng, text)
			}
			write(t, path(name), text)
		}
		m := new(attr.Mapping)
		if rng.IntN(2) == 0 {
			m.KeepAll()
		}
		opts := ingest.Options{Mapping: m}
		want := recordtest.Transcript(t, opts.Open(path("a"), path("b")).Records())
		for _, size := range []int{1, 300, 3000} {
			got := recordtest.Transcript(t, inOrder(opts.Open(path("a"), path("b")), size, 1+rng.IntN(4)))
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Fatalf("seed %d, parts of %d: (-want +got)\n%s", seed, size, diff)
			}
		}
	}
}

func TestInOrderOfSamples(t *testing.T) {
	for _, path := range sampleFiles(t) {
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			continue
		}
		want := recordtest.Transcript(t, ingest.Open(path).Records())
		for _, size := range []int{1, 5000} {
			check.Equal(t, fmt.Sprintf("%s, parts of %d", path, size), want, recordtest.Transcript(t, inOrder(ingest.Open(path), size, 3)))
		}
	}
}

// A part of more records than are held is handed out while it is read, and an error ends
// the reading where it stands.
func TestInOrderEnds(t *testing.T) {
	content := lines(partsEntry, 30_000)
	failing := func() io.Reader {
		return io.MultiReader(strings.NewReader(content), iotest.ErrReader(errors.New("disk on fire")))
	}
	for _, size := range []int{1000, 64 << 20} {
		in := ingest.Options{Stdin: failing()}.Open(ingest.Stdin)
		in.SetPartSize(size)
		n := int64(0)
		err := in.InOrder(4, func(rec op.Record, _ error) error {
			if n++; rec.Entry.Step.V != n {
				return fmt.Errorf("step %d, want %d", rec.Entry.Step.V, n)
			}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "disk on fire") || n != 30_000 {
			t.Errorf("parts of %d: %d entries, error %v", size, n, err)
		}
		full := errors.New("disk full")
		in = ingest.Options{Stdin: failing()}.Open(ingest.Stdin)
		in.SetPartSize(size)
		n = 0
		err = in.InOrder(4, func(op.Record, error) error {
			if n++; n == 20_000 {
				return full
			}
			return nil
		})
		if !errors.Is(err, full) || n != 20_000 {
			t.Errorf("parts of %d: %d entries, error %v", size, n, err)
		}
	}
}
