package check

import (
	"bytes"
	"compress/gzip"
	"testing"
)

// Gzip returns the parts compressed, a member each.
func Gzip[T string | []byte](t testing.TB, parts ...T) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, part := range parts {
		z := gzip.NewWriter(&b)
		Must(z.Write([]byte(part)))(t)
		OK(t, z.Close())
	}
	return b.Bytes()
}
