// Package check has assertions for tests, measures memory, and compresses. Only tests import it.
package check

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Equal reports an error if got is not want. what names the compared value; it may be empty.
func Equal[T any](t testing.TB, what string, want, got T, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Is reports an error if err is not want, like errors.Is.
func Is(t testing.TB, what string, want, err error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// Says reports an error if the text of err does not contain want.
func Says(t testing.TB, what, want string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error %v, want %q", what, err, want)
	}
}

// Heap returns the bytes in use after a collection.
func Heap() int64 {
	runtime.GC()
	runtime.GC() // frees pools and finalized objects
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Allocated returns the bytes allocated by the program while f runs.
func Allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// OK ends the test if err is not nil.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must returns a function that returns v, or ends the test if err is not nil: check.Must(os.ReadFile(name))(t).
func Must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		OK(t, err)
		return v
	}
}

// Files returns the names and the contents of the files in a directory, sorted by name.
func Files(t testing.TB, dir string) (names []string, contents [][]byte) {
	t.Helper()
	for _, e := range Must(os.ReadDir(dir))(t) {
		if !e.IsDir() {
			names = append(names, e.Name())
			contents = append(contents, Must(os.ReadFile(filepath.Join(dir, e.Name())))(t))
		}
	}
	return names, contents
}

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
