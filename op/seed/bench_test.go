package seed_test

import (
	"testing"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op/seed"
)

func BenchmarkParseTrace(b *testing.B) {
	tr := &seed.Trace{}
	for i := range 1000 {
		e := seedEntry(int64(i), "matmul", 100, 64, 256)
		tr.AddEntry(&e)
	}
	text := tr.AppendJSON(nil)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		check.Must(seed.Parse(text, "bench"))(b)
	}
}
