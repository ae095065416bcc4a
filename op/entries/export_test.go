package entries

import "github.com/optrace/optrace/internal/model/decode"

// IsCanonical reports whether a Reader reads the line, which ends with a newline,
// as one in canonical form.
func IsCanonical(line []byte) bool {
	var d decode.Decoder
	size := d.Canonical(line)
	return size == len(line)
}
