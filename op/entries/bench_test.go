package entries_test

import (
	"bytes"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/op/entries"
)

func BenchmarkReadCanonicalLines(b *testing.B) { benchmarkRead(b, []byte(fullLine+"\n")) }

func BenchmarkReadOtherLines(b *testing.B) { benchmarkRead(b, []byte(fullLine+" \n")) }

func benchmarkRead(b *testing.B, line []byte) {
	text := bytes.Repeat(line, 1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range entries.NewReader(bytes.NewReader(text), "lines").Records() {
			check.OK(b, err)
		}
	}
}

func BenchmarkWriteEntry(b *testing.B) {
	e := optest.RichEntry()
	var line []byte
	b.ReportAllocs()
	for b.Loop() {
		line = e.AppendJSON(line[:0])
	}
	b.SetBytes(int64(len(line)))
}
