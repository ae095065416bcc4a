package optest

import (
	"testing"

	"github.com/optrace/optrace/op"
)

// hostileTexts are texts that break out of careless formats.
var hostileTexts = []string{
	"matmul", "", "a;b c\nd", "</script><script>", "]]>", "\u2028\u2029", "=1+1", "'quoted'", "-minus", "@at", "\t",
	"\x1b]0;title\x07",
	"\u202emul", "a\"b\\c", "a,b\r\nc", "\x00\x7f", "../../x", "CON", "{{.}}", "__proto__", "[[1,2]]", "null", "4",
	"矩阵乘法", "\xff",
}

// FuzzEntries fuzzes check with valid entries of arbitrary texts, times and numbers.
func FuzzEntries(f *testing.F, check func(t *testing.T, e *op.Entry)) {
	f.Helper()
	for i, text := range hostileTexts {
		f.Add(text, hostileTexts[len(hostileTexts)-1-i], start+int64(i), int64(i)*duration, int64(i))
	}
	f.Add("matmul", "cuda:0", int64(-5), int64(1)<<62, int64(1)<<60)
	f.Fuzz(func(t *testing.T, name, text string, start, duration, n int64) {
		e := &op.Entry{
			Operation: name, Path: text, DeviceID: text, Service: text, Scope: text, Failed: true, Error: text,
			Step: op.Known(n), Stream: op.Known(n), MemoryBytes: op.Known(n), Start: op.Known(start),
			Duration: duration,
			TraceID:  TraceID, SpanID: SpanID, ParentSpanID: ParentID,
		}
		e.Kind, e.KindRule = op.InferKind(name)
		if e.Validate() != nil {
			t.Skip("no valid entry")
		}
		check(t, e)
	})
}
