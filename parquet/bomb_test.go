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

// R2: bytes that belong to a column and to no page stand for no rows.
func TestR2RowsPerByteOfPages(t *testing.T) {
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

// zeros reads as the magic and then zeros, so many bytes in all.
type zeros struct{ n, at int64 }

func (z *zeros) Read(p []byte) (n int, err error) {
	if z.at == z.n {
		return 0, io.EOF
	}
	n = int(min(int64(len(p)), z.n-z.at))
	clear(p[:n])
	if z.at < 4 {
		copy(p[:n], "PAR1"[z.at:])
	}
	z.at += int64(n)
	return n, nil
}

// R2: what has to be copied is bounded, and nothing of it is left behind.
func TestR2SpoolIsBounded(t *testing.T) {
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
		src := &zeros{n: tc.size}
		var last error
		for _, err := range parquet.Records(src, "file", tc.most) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), tc.want) || src.at != tc.read {
			t.Errorf("%s: %d bytes read, error %v", name, src.at, last)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind %v, %v", name, left, err)
		}
	}
}
