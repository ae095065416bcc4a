package lexer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/text/lexer"
)

// A Name is read where exactly its text stands, with enough of anything behind it.
func TestNameRead(t *testing.T) {
	const text = `,"startTimeUnixNano":"17`
	for size := 8; size <= len(text); size++ {
		name := lexer.NewName(text[:size])
		for _, at := range []int{0, 1, 9} {
			b := []byte(strings.Repeat(",", at) + text[:size] + strings.Repeat("x", 24))
			check.Equal(t, fmt.Sprintf("%q at %d ends at", text[:size], at), at+size, name.Read(b, at))
			for i := at; i < at+size; i++ {
				b[i] ^= 1
				if end := name.Read(b, at); end != -1 {
					t.Errorf("%q is read in %q", text[:size], b[at:])
				}
				b[i] ^= 1
			}
			check.Equal(t, fmt.Sprintf("%q at -1 ends at", text[:size]), -1, name.Read(b, -1))
			check.Equal(t, fmt.Sprintf("%q with 23 bytes left ends at", text[:size]), -1, name.Read(b[:at+23], at))
		}
	}
}
