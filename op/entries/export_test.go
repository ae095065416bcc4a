package entries

import "github.com/optrace/optrace/internal/model/decode"

// IsCanonical reports whether the fast path reads the line, which ends with a newline.
func IsCanonical(line []byte) bool {
	var d decode.Decoder
	size := d.Canonical(line)
	return size == len(line)
}
