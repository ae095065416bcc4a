package parquet_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/optrace/optrace/parquet"
)

// docs/reliability.md, R2: bytes of a column outside its pages allow no rows.
func TestRowsPerByteAreLimited(t *testing.T) {
	const freeRows, padding = 1 << 20, 2 << 20
	const rows = 4 * freeRows
	f := forge(rows)
	f.padding = padding
	f.change = func(c *format.ColumnMetaData) { c.TotalCompressedSize += padding }
	n := 0
	var last error
	for rec, err := range parquet.Records(bytes.NewReader(f.file(t)), "file", parquet.MaxSpoolBytes) {
		if rec.Entry != nil {
			n++
		}
		last = err
	}
	if n > freeRows || last == nil || !strings.Contains(last.Error(), "hold more than 16 rows for each byte") {
		t.Errorf("%d rows, error %v", n, last)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// docs/reliability.md, R2: the copy of an input is bounded, and removed.
func TestSpoolIsBounded(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for name, tc := range map[string]struct {
		size, most, read int64
		want             string
	}{
		"in memory":            {1 << 20, 1 << 10, 1<<10 + 1, "too large to be copied"},
		"in a file":            {1 << 40, 32 << 20, 32<<20 + 1, "too large to be copied"},
		"zeros in front of it": {20 << 20, 32 << 20, 20 << 20, "no footer"},
	} {
		src := &io.LimitedReader{R: io.MultiReader(strings.NewReader("PAR1"), zeros{}), N: tc.size}
		var last error
		for _, err := range parquet.Records(src, "file", tc.most) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), tc.want) || tc.size-src.N != tc.read {
			t.Errorf("%s: %d bytes read, error %v", name, tc.size-src.N, last)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind %v, %v", name, left, err)
		}
	}
}
