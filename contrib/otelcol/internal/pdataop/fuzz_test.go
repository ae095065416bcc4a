package pdataop

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/contrib/otelcol/internal/pdatatest"
	"github.com/optrace/optrace/internal/check"
)

// FuzzAgainstProtobuf compares the records of any spans with those of the reader of OTLP.
func FuzzAgainstProtobuf(f *testing.F) {
	for _, td := range pdatatest.Training(1, 1, 2) {
		text := check.Must(pdatatest.Proto(td))(f)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var u ptrace.ProtoUnmarshaler
		td, err := u.UnmarshalTraces(text)
		if err != nil {
			return
		}
		compare(t, nil, td)
		prints := NewFingerprints(nil)
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					one, ok := prints.Of(s, 0)
					if two, again := prints.Of(s, 0); one != two || ok != again {
						t.Errorf("the fingerprint is %x, %t and then %x, %t", one, ok, two, again)
					}
				}
			}
		}
	})
}
