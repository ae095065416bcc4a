package otlp

import (
	"io"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

const smallRead = 32 << 10

// smallReads returns little at a time, like a decompressor.
type smallReads struct{ io.Reader }

func (r smallReads) Read(b []byte) (int, error) { return r.Reader.Read(b[:min(len(b), smallRead)]) }

// A step within a long element is repeated a few times only. Reads of 32 KiB made an attribute of 7 MB take two seconds.
func TestLongElementsAreReadInLinearTime(t *testing.T) {
	var w window
	w.reset(smallReads{strings.NewReader(`"` + strings.Repeat("x", 12<<20) + `" `)}, "", op.Position{})
	steps := 0
	w.do(func(l *lexer.Lexer) {
		steps++
		l.Str()
	})
	check.Equal(t, "failed", false, w.failed())
	if most := longElement/smallRead + 8; steps > most {
		t.Errorf("%d steps, at most %d", steps, most)
	}
}
