package lexer

import (
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

const benchText = `{"name": "aten::addmm", "ts": 1760000000557.445, "dur": 12.6, "args": {"External id": 4711, ` +
	`"Input Dims": [[64, 784], [784, 256]], "Concrete Inputs": ["", "a \"quoted\" text"]}}`

func BenchmarkLexerSkipsEvent(b *testing.B) {
	var l Lexer
	text := []byte(benchText)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		l.Reset(text)
		l.Skip()
		check.OK(b, l.Err())
	}
}

func BenchmarkValuePassesEvent(b *testing.B) {
	text := []byte(benchText)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if Value(text, 0) != len(text) {
			b.Fatal("not passed")
		}
	}
}

func BenchmarkReadUnixNanoseconds(b *testing.B) {
	text := []byte(`1760000000000557445,"dur":12600,"args":{}`)
	for b.Loop() {
		if v, _ := Digits(text, 0); v == 0 {
			b.Fatal("not read")
		}
	}
}
