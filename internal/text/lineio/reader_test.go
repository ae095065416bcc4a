package lineio_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/text/lineio"
)

// all reads every line, and copies the Reader's memory.
func all(t *testing.T, src io.Reader, limit int) ([]lineio.Line, error) {
	t.Helper()
	r := lineio.NewReader(src, limit)
	var lines []lineio.Line
	for {
		line, err := r.Next()
		if err != nil {
			return lines, err
		}
		line.Text = bytes.Clone(line.Text)
		lines = append(lines, line)
	}
}

// split is the naive reference: the whole input in memory.
func split(text []byte, limit int) []lineio.Line {
	var lines []lineio.Line
	offset := int64(0)
	for i, raw := range bytes.SplitAfter(text, []byte("\n")) {
		if len(raw) == 0 {
			break // behind the final newline
		}
		body, complete := bytes.CutSuffix(raw, []byte("\n"))
		body = bytes.TrimSuffix(body, []byte("\r"))
		line := lineio.Line{Text: body, Number: int64(i + 1), Offset: offset, Complete: complete}
		if len(body) > limit {
			line.Text = nil
		}
		lines = append(lines, line)
		offset += int64(len(raw))
	}
	return lines
}

// chunks hands out its text in pieces of random size, the last one with its error.
type chunks struct {
	text []byte
	r    *rand.Rand
	err  error
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.r.IntN(10) == 0 {
		return 0, nil // allowed, if discouraged
	}
	n := copy(p, c.text[:min(len(c.text), c.r.IntN(12))])
	c.text = c.text[n:]
	if len(c.text) == 0 {
		return n, c.err
	}
	return n, nil
}

func TestAgainstSplit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := "ab\r\n\n"
	for range cases.Count(t, 1000, 20000) {
		text := make([]byte, r.IntN(60))
		for i := range text {
			text[i] = alphabet[r.IntN(len(alphabet))]
		}
		limit := 1 + r.IntN(12)
		got, err := all(t, &chunks{text: text, r: r, err: io.EOF}, limit)
		if err != io.EOF {
			t.Fatalf("%q: error %v", text, err)
		}
		want := split(text, limit)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q with limit %d (-want +got):\n%s", text, limit, diff)
		}
	}
}

func TestLinesAroundBufferSize(t *testing.T) {
	for _, n := range []int{256<<10 - 2, 256<<10 - 1, 256 << 10, 256<<10 + 1, 512<<10 + 3} {
		long := strings.Repeat("x", n)
		got, err := all(t, strings.NewReader(long+"\n"+long), 0)
		if err != io.EOF || len(got) != 2 || string(got[0].Text) != long || string(got[1].Text) != long ||
			got[1].Complete {
			t.Errorf("length %d: %d lines, error %v", n, len(got), err)
		}
	}
}

// A giant line costs the limit's memory, not its own, and reading goes on behind it.
func TestGiantLine(t *testing.T) {
	const giant = 64 << 20
	src := strings.NewReader(strings.Repeat("x", giant) + "\nafter\n")
	got, err := all(t, src, 1<<10)
	want := []lineio.Line{
		{Number: 1, Complete: true},
		{Text: []byte("after"), Number: 2, Offset: giant + 1, Complete: true},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
		t.Errorf("error %v, lines (-want +got):\n%s", err, diff)
	}
}

// An error of the source comes after its bytes.
func TestSourceError(t *testing.T) {
	broken := errors.New("disk on fire")
	src := &chunks{text: []byte("one\ntwo\nthr"), r: rand.New(rand.NewPCG(3, 4)), err: broken}
	got, err := all(t, src, 100)
	want := []lineio.Line{
		{Text: []byte("one"), Number: 1, Complete: true},
		{Text: []byte("two"), Number: 2, Offset: 4, Complete: true},
		{Text: []byte("thr"), Number: 3, Offset: 8},
	}
	if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, broken) {
		t.Errorf("error %v, lines (-want +got):\n%s", err, diff)
	}
	// The error is kept.
	r := lineio.NewReader(iotest.ErrReader(broken), 0)
	for range 2 {
		if _, err := r.Next(); !errors.Is(err, broken) {
			t.Errorf("error %v, want %v", err, broken)
		}
	}
}

func TestNoProgress(t *testing.T) {
	if _, err := lineio.NewReader(iotest.ErrReader(nil), 0).Next(); err != io.ErrNoProgress {
		t.Errorf("error %v, want %v", err, io.ErrNoProgress)
	}
}
