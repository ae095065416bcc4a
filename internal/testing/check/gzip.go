package check

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"
)

// Gzip compresses each part as a gzip member.
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

// Gunzip decompresses src. Any goroutine may call it.
func Gunzip(t testing.TB, src io.Reader) []byte {
	t.Helper()
	z, err := gzip.NewReader(src)
	if err != nil {
		t.Error(err)
		return nil
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Error(err)
	}
	return text
}
