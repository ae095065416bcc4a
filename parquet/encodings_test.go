package parquet_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	lib "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

// foreign writes rows by the library, like another program.
func foreign[T any](t testing.TB, rows []T, opts ...lib.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := lib.NewGenericWriter[T](&b, opts...)
	check.Must(w.Write(rows))(t)
	check.OK(t, w.Close())
	return b.Bytes()
}

// flatRow has a column of every physical type.
type flatRow struct {
	Operation  string   `parquet:"operation"`
	DeviceID   *string  `parquet:"device_id"`
	DurationNS int64    `parquet:"duration_ns"`
	Step       *int32   `parquet:"step"`
	FLOPs      *float64 `parquet:"flops"`
	Stream     *float32 `parquet:"stream"`
	TraceID    [16]byte `parquet:"trace_id"`
	Failed     *bool    `parquet:"failed"`
}

func flatRows(n int) (rows []flatRow, want []*op.Entry) {
	r := recordtest.Random{Rand: rand.New(rand.NewPCG(7, 8))}
	names := []string{"matmul", "matmul_backward", "relu", "a name that is rather long, longer than others"}
	for i := range n {
		row := flatRow{Operation: names[r.IntN(len(names))], DurationNS: r.Int64N(1 << r.IntN(62)),
			TraceID: [16]byte{1, 15: byte(i)}}
		e := &op.Entry{Operation: row.Operation, Duration: row.DurationNS, TraceID: row.TraceID, Kind: op.KindCompute,
			KindRule: op.RuleDefault}
		if r.Maybe() {
			e.DeviceID = fmt.Sprintf("cuda:%d", r.IntN(1000))
			row.DeviceID = &e.DeviceID
		}
		if r.Maybe() {
			row.Step = new(int32(r.Uint32()))
			e.Step = op.Known(int64(*row.Step))
		}
		if r.Maybe() {
			row.FLOPs = new(float64(r.Int64N(1 << 50)))
			e.FLOPs = op.Known(int64(*row.FLOPs))
		}
		if r.Maybe() {
			row.Stream = new(float32(r.Int32N(1 << 20)))
			e.Stream = op.Known(int64(*row.Stream))
		}
		if r.Maybe() {
			e.Failed = r.Maybe()
			row.Failed = &e.Failed
		}
		rows = append(rows, row)
		want = append(want, e)
	}
	return rows, want
}

// All codecs, page versions and encodings of the library give the same records.
func TestEncodings(t *testing.T) {
	rows, want := flatRows(600)
	codecs := map[string]compress.Codec{
		"none": &lib.Uncompressed, "snappy": &lib.Snappy, "gzip": &lib.Gzip, "brotli": &lib.Brotli, "zstd": &lib.Zstd,
		"lz4": &lib.Lz4Raw,
	}
	encodings := map[string][]lib.WriterOption{
		"plain": nil,
		"dictionary": every(&lib.RLEDictionary, lib.ByteArray, lib.FixedLenByteArray, lib.Int32, lib.Int64, lib.Float,
			lib.Double),
		"delta":  every(&lib.DeltaBinaryPacked, lib.Int32, lib.Int64),
		"length": every(&lib.DeltaLengthByteArray, lib.ByteArray),
		"shared": every(&lib.DeltaByteArray, lib.ByteArray, lib.FixedLenByteArray),
		"split":  every(&lib.ByteStreamSplit, lib.Float, lib.Double, lib.Int32, lib.Int64, lib.FixedLenByteArray),
		"rle":    every(&lib.RLE, lib.Boolean),
	}
	for encodingName, opts := range encodings {
		for codecName := range cases.Of(t, 2, slices.Sorted(maps.Keys(codecs))) {
			codec := codecs[codecName]
			for version := 1; version <= 2; version++ {
				t.Run(fmt.Sprintf("%s/%s/v%d", encodingName, codecName, version), func(t *testing.T) {
					opts := append([]lib.WriterOption{lib.Compression(codec), lib.DataPageVersion(version),
						lib.PageBufferSize(1024),
						lib.MaxRowsPerRowGroup(250)}, opts...)
					got := read(t, foreign(t, rows, opts...))
					if got.fail != "" || len(got.bad) > 0 {
						t.Fatalf("%q, %q", got.bad, got.fail)
					}
					if !reflect.DeepEqual(want, got.entries()) { // cmp is slow
						t.Errorf("(-want +got):\n%s", cmp.Diff(want, got.entries()))
					}
				})
			}
		}
	}
}

func every(e encoding.Encoding, kinds ...lib.Kind) (opts []lib.WriterOption) {
	for _, kind := range kinds {
		opts = append(opts, lib.DefaultEncodingFor(kind, e))
	}
	return opts
}
