package parquet_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	lib "github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/ingest/internal/recordtest"
)

// numberRow has the columns that rows are handed out by, and some of integers and flags.
type numberRow struct {
	Record         string  `parquet:"record"`
	Operation      string  `parquet:"operation"`
	Kind           string  `parquet:"kind"`
	DurationNS     int64   `parquet:"duration_ns"`
	OutputElements *int64  `parquet:"output_elements"`
	MemoryBytes    *int64  `parquet:"memory_bytes"`
	StartUnixNS    *int64  `parquet:"start_unix_ns"`
	Stream         *int32  `parquet:"stream"`
	Rank           *uint64 `parquet:"rank"`
	Failed         *bool   `parquet:"failed"`
	Path           *string `parquet:"path"`
}

// Integers and flags mean the same in columns, however they are stored, also those that may
// not be there.
func TestColumnsOfNumbers(t *testing.T) {
	r := recordtest.Random{Rand: rand.New(rand.NewPCG(5, 6))}
	var list []numberRow
	for i := range 3000 {
		row := numberRow{Record: "entry", Operation: fmt.Sprint("op", r.IntN(5)), Kind: "compute", DurationNS: r.Int64N(1000)}
		row.OutputElements, row.MemoryBytes = new(r.Int64N(1<<40)), new(r.Int64N(1<<40))
		if i >= 1000 && r.IntN(100) == 0 {
			row.MemoryBytes = new(-r.Int64N(5)) // no size, but for 0
		}
		if i < 2000 || r.Maybe() {
			row.StartUnixNS, row.Stream = new(r.Int64()-r.Int64()), new(int32(r.Uint32()))
		}
		if r.Maybe() {
			row.Rank, row.Failed = new(r.Uint64()), new(r.Maybe())
		}
		if r.IntN(10) == 0 {
			row.Path = new(fmt.Sprint("layers.", i))
		}
		list = append(list, row)
	}
	inColumns := 0
	for name, opts := range map[string][]lib.WriterOption{
		"plain":      nil,
		"dictionary": every(&lib.RLEDictionary, lib.ByteArray, lib.Int32, lib.Int64),
		"delta":      every(&lib.DeltaBinaryPacked, lib.Int32, lib.Int64),
		"split":      every(&lib.ByteStreamSplit, lib.Int32, lib.Int64),
		"rle":        every(&lib.RLE, lib.Boolean),
	} {
		for version := 1; version <= 2; version++ {
			for _, pageBytes := range []int{300, 1 << 20} {
				opts := append([]lib.WriterOption{lib.DataPageVersion(version), lib.PageBufferSize(pageBytes)}, opts...)
				name := fmt.Sprintf("%s, version %d, pages of %d bytes", name, version, pageBytes)
				checkColumns(t, name, foreign(t, list, opts...), &inColumns)
			}
		}
	}
	if inColumns < 10_000 {
		t.Errorf("%d operations in columns", inColumns)
	}
}
