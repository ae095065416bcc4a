package parquet_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	lib "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/parquet"
)

// foreignTypes are the types of columns in testdata/foreign.txt, with the value that null stands for.
var foreignTypes = map[string]any{
	"float64": 0.0, "int8": int8(0), "int32": int32(0), "int64": int64(0), "uint8": uint8(0), "uint32": uint32(0),
	"uint64": uint64(0), "string": "", "bytes": []byte(nil), "id8": [8]byte{}, "id16": [16]byte{}, "time": time.Time{},
	"int32s": []int32{}, "int64s": []int64{}, "strings": []string{}, "lists": [][]int64{},
	"numbers": map[string]int64{}, "infinity": math.Inf(1), "invalid": "\xff",
}

// Files of other programs lack columns, and have other columns, orders and types. A case of testdata/foreign.txt is a
// row: lines of a column, its type and its value in JSON.
func TestForeignColumns(t *testing.T) {
	golden.Cases(t, "testdata/foreign.txt", func(columns string) string {
		var fields []reflect.StructField
		var values []reflect.Value
		for line := range strings.SplitSeq(columns, "\n") {
			column := strings.SplitN(line, " ", 3)
			value := reflect.New(reflect.TypeOf(foreignTypes[column[1]])).Elem()
			value.Set(reflect.ValueOf(foreignTypes[column[1]]))
			check.OK(t, json.Unmarshal([]byte(column[2]), value.Addr().Interface()))
			fields = append(fields, reflect.StructField{
				Name: fmt.Sprint("Column", len(fields)), Type: value.Type(),
				Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", column[0])),
			})
			values = append(values, value)
		}
		row := reflect.New(reflect.StructOf(fields)).Elem()
		for i, value := range values {
			row.Field(i).Set(value)
		}
		got := read(t, foreign(t, []any{row.Addr().Interface()}, lib.SchemaOf(row.Interface())))
		if got.fail != "" || len(got.bad) > 0 || len(got.entries()) != 1 {
			t.Fatalf("%s:\n%d entries, %q, %q", columns, len(got.entries()), got.bad, got.fail)
		}
		return string(got.entries()[0].AppendJSON(nil))
	})
}

// DuckDB 1.5.6 wrote duckdb.parquet: COPY (SELECT * FROM 'ours.parquet') TO 'duckdb.parquet' (COMPRESSION
// zstd), with ours.parquet made of duckdb.jsonl. Null and empty values survive.
func TestDuckDB(t *testing.T) {
	file := check.Must(os.ReadFile("testdata/duckdb.parquet"))(t)
	jsonl := check.Must(os.ReadFile("testdata/duckdb.jsonl"))(t)
	want := recordtest.Transcript(t, entries.NewReader(bytes.NewReader(jsonl), "duckdb.jsonl").Records())
	got := recordtest.Transcript(t, parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "duckdb.parquet"))
	check.Equal(t, "", want, got)
}

type minimal struct {
	Record     string `parquet:"record,optional"`
	Operation  string `parquet:"operation,optional"`
	DurationNS *int64 `parquet:"duration_ns"`
}

// A bad row is reported, and its neighbors are read.
func TestBadRows(t *testing.T) {
	got := read(t, foreign(t, []minimal{
		{"entry", "a", new(int64(1))}, {"", "", new(int64(1))}, {"", "b", nil}, {"later", "", nil},
		{"", "c", new(int64(1))},
	}))
	check.Equal(t, "errors", []string{"row 2: an entry without an operation", "row 3: an entry without a duration"},
		got.bad)
	var names []string
	for _, e := range got.entries() {
		names = append(names, e.Operation)
	}
	check.Equal(t, "operations", []string{"a", "c"}, names)
	check.Equal(t, "skipped", op.Skipped{Reason: op.SkipUnknownRecord, N: 1}, got.all[1].Skipped)
}

// Other tables and later versions are rejected with the reason.
func TestRefused(t *testing.T) {
	for _, test := range []struct {
		name string
		file []byte
		want string
	}{
		{"no operation", foreign(t, []struct {
			ID    int64 `parquet:"id"`
			Price int64 `parquet:"price"`
		}{{1, 2}}), `parquet file without a column operation; it has "id", "price"`},
		{"no duration", foreign(t, []struct {
			Operation string `parquet:"operation"`
		}{{"a"}}), `parquet file without a column duration_ns or duration_us; it has "operation"`},
		{"later version", foreign(t, []minimal{{}}, lib.KeyValueMetadata("optrace.schema", "optrace.entries/v2")),
			`schema "optrace.entries/v2" is not supported, this version reads "optrace.entries/v1"`},
		{"empty", nil, "parquet file has no footer: it is cut off, or still being written"},
		{"magic only", []byte("PAR1PAR1"), "parquet file has no footer: it is cut off, or still being written"},
		{"text", []byte(strings.Repeat("PAR1 is no Parquet ", 9)),
			"parquet file has no footer: it is cut off, or still being written"},
		{"footer longer than the file", []byte("PAR1\xff\xff\xff\xffPAR1"),
			"parquet footer of 4294967295 bytes is longer than the file"},
		{"encrypted", []byte("PARE\x00\x00\x00\x00PARE"), "parquet file is encrypted"},
		{"empty footer", []byte("PAR1\x00\x00\x00\x00\x00PAR1"), "parquet footer: metadata end early"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := read(t, test.file)
			if got.fail != test.want || len(got.bad) > 0 || len(got.all) > 0 {
				t.Errorf("error %q, want %q; %d records, %q", got.fail, test.want, len(got.all), got.bad)
			}
		})
	}
}

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
						lib.PageBufferSize(1024), lib.MaxRowsPerRowGroup(250)}, opts...)
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
