package sqlite_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/optrace/optrace/cmd/optrace/internal/sqlite"
	"github.com/optrace/optrace/cmd/optrace/nsys"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
)

func TestRefused(t *testing.T) {
	header := func(change func(b []byte)) []byte {
		b := make([]byte, 1024)
		copy(b, "SQLite format 3\x00\x04\x00")
		b[100] = 13
		change(b)
		return b
	}
	for _, test := range []struct {
		name string
		file []byte
		want string
	}{
		{"an empty database", header(func([]byte) {}), "<nil>"},
		{"nothing", nil, "no SQLite database"},
		{"a header alone", header(func([]byte) {})[:100], "table sqlite_schema: page 1: the database has 0"},
		{"small pages", header(func(b []byte) { b[16] = 0 }), "pages of 0 bytes"},
		{"odd pages", header(func(b []byte) { b[17] = 1 }), "pages of 1025 bytes"},
		{"no room", header(func(b []byte) { b[16], b[20] = 2, 100 }), "pages of 512 bytes"},
		{"UTF-16", header(func(b []byte) { b[59] = 2 }), "texts in UTF-16"},
		{
			"an index", header(func(b []byte) { b[100] = 10 }),
			"table sqlite_schema: page 1: is of kind 10, and no part of a table with numbered rows",
		},
		{"many cells", header(func(b []byte) { b[103] = 10 }), "table sqlite_schema: page 1: 2560 cells"},
		{"a cell outside", header(func(b []byte) { b[104], b[108] = 1, 255 }),
			"table sqlite_schema: page 1: a cell at 65280"},
		{"a large row", header(func(b []byte) { b[104], b[108] = 1, 2; copy(b[512:], "\xff\xff\xff\x7f") }),
			"table sqlite_schema: page 1: a row of 268435455 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := sqlite.Open(bytes.NewReader(test.file), int64(len(test.file)))
			check.Equal(t, "error", test.want, fmt.Sprint(err))
		})
	}
}

// The records of an export. Package nsys's tests link all of SQLite; its coverage would slow fuzzing there.
func FuzzRecords(f *testing.F) {
	f.Add(check.Must(os.ReadFile("../../nsys/testdata/small.sqlite"))(f))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<16 {
			t.Skip("larger than what tells anything new")
		}
		memory := ingest.Memory{Hold: func(int64) error { return nil }}
		recordtest.Check(t, nsys.RecordsAt(bytes.NewReader(text), int64(len(text)), "fuzz", memory))
	})
}
