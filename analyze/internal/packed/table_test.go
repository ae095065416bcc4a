package packed

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/internal/cases"
)

// columnKinds make values of every width, few and many distinct ones, and runs.
var columnKinds = []func(r *rand.Rand, row int) int64{
	func(*rand.Rand, int) int64 { return 0 },
	func(*rand.Rand, int) int64 { return math.MinInt64 },
	func(r *rand.Rand, _ int) int64 { return int64(r.Uint64()) },
	func(r *rand.Rand, _ int) int64 { return int64(r.Uint64()) >> r.IntN(64) },
	func(r *rand.Rand, row int) int64 {
		return 1_700_000_000_000_000_000 + int64(row)*4000 + r.Int64N(100_000)
	},
	func(r *rand.Rand, _ int) int64 { return r.Int64N(2) },
	func(r *rand.Rand, _ int) int64 { return math.MaxInt64 - 1<<40*r.Int64N(256) },
	func(r *rand.Rand, _ int) int64 { return math.MinInt64 + 1<<40*r.Int64N(257) },
	func(_ *rand.Rand, row int) int64 { return int64(row / 300 * 1e9) },
	func(_ *rand.Rand, row int) int64 { return []int64{math.MinInt64, math.MaxInt64}[row%2] },
}

func TestTableHoldsWhatWasAppended(t *testing.T) {
	cases.Seeds(t, 20, func(seed uint64, r *rand.Rand) {
		columns := 1 + r.IntN(12)
		kinds := make([]func(*rand.Rand, int) int64, columns)
		for c := range kinds {
			kinds[c] = columnKinds[r.IntN(len(columnKinds))]
			if r.IntN(3) == 0 {
				size := 1 + r.IntN(64)
				kinds[c] = func(r *rand.Rand, _ int) int64 { return int64(r.Uint64() >> (64 - size)) }
			}
		}
		table := New(columns)
		var want []int64
		rows := r.IntN(5 * BlockRows)
		for row := range rows {
			for c := range columns {
				want = append(want, kinds[c](r, row))
			}
		}
		for row := 0; row < rows; {
			if r.IntN(2) == 0 {
				table.Append(want[row*columns : (row+1)*columns])
				row++
				continue
			}
			n := table.Extend(1 + r.IntN(rows-row))
			for c := range columns {
				for i := range table.Last(n, c) {
					table.Last(n, c)[i] = want[(row+i)*columns+c]
				}
			}
			table.Close()
			row += n
		}
		if table.Rows() != rows {
			t.Fatalf("seed %d: %d rows, want %d", seed, table.Rows(), rows)
		}
		for i, v := range want {
			if got := table.At(int32(i/columns), i%columns); got != v {
				t.Fatalf("seed %d: row %d has %d in column %d, want %d", seed, i/columns, got, i%columns, v)
			}
		}
		if rows > 0 {
			list, got := make([]int32, r.IntN(3*BlockRows)), make([]int64, 3*BlockRows)
			for i := range list {
				list[i] = int32(r.IntN(rows))
				if i > 0 && r.IntN(4) > 0 {
					list[i] = min(int32(rows)-1, list[i-1]+1)
				}
			}
			for c := range columns {
				table.Gather(got[:len(list)], list, c)
				for i, row := range list {
					if want := want[int(row)*columns+c]; got[i] != want {
						t.Fatalf("seed %d: row %d has %d in column %d when gathered, want %d", seed, row, got[i], c, want)
					}
				}
			}
		}
		for b := range table.Blocks() {
			size := min(BlockRows, rows-b*BlockRows)
			first := r.IntN(size)
			for c := range columns {
				got := make([]int64, 1+r.IntN(size-first))
				table.Read(got, b, first, c)
				for i, v := range got {
					if row := b*BlockRows + first + i; v != want[row*columns+c] {
						t.Fatalf("seed %d: row %d has %d in column %d when read, want %d", seed, row, v, c, want[row*columns+c])
					}
				}
			}
		}
	})
}

// Values that Update sets are those of the rows, and the others stay.
func TestUpdate(t *testing.T) {
	cases.Seeds(t, 20, func(seed uint64, r *rand.Rand) {
		const columns = 3
		table := New(columns)
		rows := r.IntN(4 * BlockRows)
		want := make([]int64, 0, rows*columns)
		for row := range rows {
			for range columns {
				want = append(want, columnKinds[r.IntN(len(columnKinds))](r, row))
			}
			table.Append(want[row*columns:])
		}
		seen := 0
		table.Update(func(first int32, column func(int) []int64) {
			values := column(1)
			for i := range values {
				at := (int(first)+i)*columns + 1
				if values[i] != want[at] {
					t.Errorf("seed %d: row %d has %d, want %d", seed, int(first)+i, values[i], want[at])
				}
				want[at] = int64(r.Uint64())
				values[i] = want[at]
				seen++
			}
		})
		if seen != rows || table.Rows() != rows {
			t.Errorf("seed %d: %d rows of %d were seen, the table has %d", seed, seen, rows, table.Rows())
		}
		var data int64
		for _, b := range table.blocks {
			data += int64(cap(b.data))
		}
		if table.size != data {
			t.Errorf("seed %d: the size is %d, want %d", seed, table.size, data)
		}
		table.Append([]int64{1, 2, 3})
		want = append(want, 1, 2, 3)
		for i, v := range want {
			if got := table.At(int32(i/columns), i%columns); got != v {
				t.Fatalf("seed %d: row %d has %d in column %d, want %d", seed, i/columns, got, i%columns, v)
			}
		}
	})
}

// Tables that are joined hold the rows of both.
func TestJoin(t *testing.T) {
	cases.Seeds(t, 20, func(seed uint64, r *rand.Rand) {
		const columns = 2
		first, second := New(columns), New(columns)
		var want []int64
		add := func(table *Table, rows int) {
			for range rows {
				for range columns {
					want = append(want, columnKinds[r.IntN(len(columnKinds))](r, len(want)))
				}
				table.Append(want[len(want)-columns:])
			}
		}
		add(&first, BlockRows*r.IntN(3))
		add(&second, r.IntN(3*BlockRows))
		size := first.Bytes() + second.Bytes()
		first.Join(&second)
		add(&first, r.IntN(100))
		if got := first.Rows(); got != len(want)/columns {
			t.Fatalf("seed %d: %d rows, want %d", seed, got, len(want)/columns)
		}
		for i, v := range want {
			if got := first.At(int32(i/columns), i%columns); got != v {
				t.Fatalf("seed %d: row %d has %d in column %d, want %d", seed, i/columns, got, i%columns, v)
			}
		}
		if got := first.Bytes(); got < size/2 {
			t.Errorf("seed %d: %d bytes after joining, %d before", seed, got, size)
		}
	})
}

// Each column takes the bits of its own range or of its distinct values.
func TestBlockSize(t *testing.T) {
	sizes := map[string]struct {
		value func(i int64) int64
		bytes int
	}{
		"one value":            {func(int64) int64 { return 1 << 60 }, 0},
		"small range":          {func(i int64) int64 { return 1<<60 + i%8 }, BlockRows * 3 / 8},
		"few distinct values":  {func(i int64) int64 { return i % 4 << 40 }, BlockRows*2/8 + (4*42+7)/8},
		"some distinct values": {func(i int64) int64 { return i % 400 << 20 }, BlockRows*9/8 + 400*29/8},
		"many distinct values": {func(i int64) int64 { return i << 20 }, BlockRows * 30 / 8},
		"all of 64 bits":       {func(i int64) int64 { return int64(uint64(i) * 0x9e3779b97f4a7c15) }, BlockRows * 8},
	}
	for name, test := range sizes {
		table := New(1)
		for i := range int64(BlockRows) {
			table.Append([]int64{test.value(i)})
		}
		if got := len(table.blocks[0].data) - padding; got != test.bytes {
			t.Errorf("%s: %d bytes, want %d", name, got, test.bytes)
		}
	}
}

func BenchmarkTable(b *testing.B) {
	const columns = 16
	row := make([]int64, columns)
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(table *Table) {
		for i := range 64 * BlockRows {
			for c := range row {
				row[c] = columnKinds[c%len(columnKinds)](r, i)
			}
			table.Append(row)
		}
	}
	full := New(columns)
	fill(&full)
	b.Run("append", func(b *testing.B) {
		var rows []int64
		for i := range int32(full.Rows()) {
			rows = full.AppendRow(rows, i)
		}
		for b.Loop() {
			table := New(columns)
			for at := 0; at < len(rows); at += columns {
				table.Append(rows[at : at+columns])
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(full.Rows()), "ns/row")
	})
	b.Run("at", func(b *testing.B) {
		sum := int64(0)
		for b.Loop() {
			for i := range int32(full.Rows()) {
				sum += full.At(i, 4)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(full.Rows()), "ns/row")
	})
	b.Run("gather", func(b *testing.B) {
		rows, values := make([]int32, 256), make([]int64, 256)
		for b.Loop() {
			for first := int32(0); int(first) < full.Rows(); first += 256 {
				for i := range rows {
					rows[i] = first + int32(i)
				}
				full.Gather(values, rows, 4)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(full.Rows()), "ns/row")
	})
	b.Run("read", func(b *testing.B) {
		var values [BlockRows]int64
		for b.Loop() {
			for n := range full.Blocks() {
				for c := range columns {
					full.Read(values[:], n, 0, c)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(full.Rows()), "ns/row")
	})
}
