package lineio

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// A buffer asks before it grows, and ends with the error of whoever bounds it.
func TestHeld(t *testing.T) {
	full := errors.New("full")
	held := int64(0)
	hold := func(bytes int64) error {
		if held += bytes; held > 4<<20 {
			return full
		}
		return nil
	}
	text := strings.Repeat("x", 1<<20)
	got, err := ReadUpTo(&Held{Reader: strings.NewReader(text), Hold: hold}, 1<<30)
	if string(got) != text || err != nil || held < int64(len(text)) {
		t.Errorf("%d bytes, error %v, %d held", len(got), err, held)
	}
	held = 0
	endless := io.MultiReader(strings.NewReader(text), strings.NewReader(text), strings.NewReader(text),
		strings.NewReader(text))
	got, err = ReadUpTo(&Held{Reader: endless, Hold: hold}, 1<<30)
	check.Is(t, "more than is allowed", full, err)
	if cap(got) > 4<<20 {
		t.Errorf("%d bytes of memory", cap(got))
	}
}
