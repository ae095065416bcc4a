package otlp

import (
	"io"
	"math"

	"github.com/optrace/optrace/internal/text/lineio"
)

// input reads a stream piece by piece.
type input struct {
	lineio.Buffer
	pos int // in Text
}

func (in *input) reset(src io.Reader, offset int64) {
	in.Reset(src, offset)
	in.pos = 0
}

// peek returns the next n bytes without taking them, or fewer where the input ends or fails. They are valid until the
// next call. It allocates for the bytes that exist, not for n.
func (in *input) peek(n int) []byte {
	for len(in.Text)-in.pos < n && in.Err == nil {
		if len(in.Text) == cap(in.Text) {
			in.Slide(in.pos, math.MaxInt)
			in.pos = 0
		}
		in.Read()
	}
	return in.Text[in.pos:min(in.pos+n, len(in.Text))]
}
