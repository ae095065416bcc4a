package ingest

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"testing/iotest"

	"github.com/optrace/optrace/internal/check"
)

// TestReadAhead compares what is read ahead with its source, which fails or ends, in
// pieces of random sizes.
func TestReadAhead(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	failure := errors.New("failure")
	for _, size := range []int{0, 1, aheadBytes - 1, aheadBytes, aheadBytes + 1, 7*aheadBytes + 11} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(rng.Uint32())
		}
		for _, want := range []error{io.EOF, io.ErrUnexpectedEOF, failure} {
			source := io.MultiReader(bytes.NewReader(content), failing{want})
			if size%2 == 1 {
				source = iotest.DataErrReader(source) // the error comes with the last bytes
			}
			stored := &countingReader{src: source}
			counted := 0
			r := newReadAhead(stored, stored, func(n int) { counted += n })
			var got []byte
			var err error
			for err == nil {
				buf := make([]byte, 1+rng.IntN(2*aheadBytes))
				var n int
				n, err = r.Read(buf)
				got = append(got, buf[:n]...)
			}
			if _, again := r.Read(make([]byte, 1)); again != err {
				t.Errorf("%d bytes: the error is %v, then %v", size, err, again)
			}
			r.close()
			if !bytes.Equal(got, content) || err != want || counted != size {
				t.Errorf("%d bytes, %v: got %d bytes, counted %d, %v", size, want, len(got), counted, err)
			}
		}
	}
}

// TestReadAheadCloses checks that closing ends the reading of an endless source.
func TestReadAheadCloses(t *testing.T) {
	for range 20 {
		var reads int // not guarded: the race detector sees a read after close
		stored := &countingReader{src: readerFunc(func(p []byte) (int, error) {
			reads++
			return len(p), nil
		})}
		r := newReadAhead(stored, stored, func(int) {})
		check.Must(io.CopyN(io.Discard, r, 3*aheadBytes))(t)
		r.close()
		if reads++; reads > 1+3+aheadBuffers+1 {
			t.Errorf("%d reads", reads)
		}
		if _, err := io.Copy(io.Discard, r); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Errorf("after close: %v", err)
		}
	}
}

// TestReadAheadOfNothing checks that a source without progress is given up.
func TestReadAheadOfNothing(t *testing.T) {
	stored := &countingReader{src: readerFunc(func([]byte) (int, error) { return 0, nil })}
	r := newReadAhead(stored, stored, func(int) {})
	_, err := r.Read(make([]byte, 1))
	check.Is(t, "", io.ErrNoProgress, err)
	r.close()
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
