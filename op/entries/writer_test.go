package entries_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w := entries.NewWriter(&out, &op.Resource{Service: "s"})
	for _, err := range []error{
		w.Entry(minimal()), w.Span(&op.Span{Name: "n"}), w.Gap(&op.Gap{Dropped: 2}),
		w.Batch(&op.Batch{Writer: "w", Sequence: 1}), w.Resource(nil),
	} {
		check.OK(t, err)
	}
	check.Equal(t, "bytes were written before Flush", 0, out.Len())
	check.OK(t, w.Flush())
	want := []string{
		string(op.AppendHeader(nil, &op.Resource{Service: "s"})), string(minimal().AppendJSON(nil)),
		`{"span":{"name":"n","duration_ns":0}}`, `{"gap":{"dropped":2}}`,
		`{"batch":{"writer":"w","seq":1,"entries":0}}`,
		string(op.AppendHeader(nil, nil)), "",
	}
	if got := out.String(); got != strings.Join(want, "\n") {
		t.Errorf("written:\n%s", got)
	}
}

func TestWriterWritesWholeLines(t *testing.T) {
	writes := 0
	w := entries.NewWriter(spantest.WriterFunc(func(p []byte) (int, error) {
		if writes++; !bytes.HasSuffix(p, []byte("\n")) {
			t.Errorf("write %d is not of whole lines: %q", writes, p)
		}
		return len(p), nil
	}), nil)
	for range 2000 {
		check.OK(t, w.Entry(optest.RichEntry()))
	}
	if err := w.Flush(); err != nil || writes < 3 {
		t.Errorf("%d writes, error %v", writes, err)
	}
	before := writes
	if err := w.Flush(); err != nil || writes != before {
		t.Errorf("a Flush of nothing wrote, error %v", err)
	}
}

func TestWriterErrors(t *testing.T) {
	full := errors.New("disk full")
	for _, test := range []struct{ err, want error }{{full, full}, {nil, io.ErrShortWrite}} {
		for n := range 40 {
			w := entries.NewWriter(&spantest.FaultyWriter{N: n, Fault: func(n int) (int, error) { return n, test.err }},
				nil)
			if err := w.Entry(minimal()); err != nil {
				t.Fatalf("before anything is written: %v", err)
			}
			for range 2 {
				if err := w.Flush(); !errors.Is(err, test.want) || !strings.HasPrefix(err.Error(),
					"writing entries: ") {
					t.Fatalf("after %d bytes: error %v, want %v", n, err, test.want)
				}
			}
			if err := w.Entry(minimal()); !errors.Is(err, test.want) {
				t.Fatalf("the error is forgotten: %v", err)
			}
		}
	}
}
