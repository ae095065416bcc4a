package jaeger

import (
	"strings"
	"testing"

	"github.com/optrace/optrace/op"
)

func TestTraceIsLimited(t *testing.T) {
	const span = `{"traceID":"1","spanID":"2","operationName":"s"}`
	spans := `"spans":[` + span + `,` + span + `]`
	for _, test := range []struct {
		name, text string
		spans      int
		err        bool
	}{
		{"processes behind the spans", `{"data":[{` + spans + `,"processes":{}}]}`, 0, true},
		{"processes in front, where nothing is kept", `{"data":[{"processes":{},` + spans + `}]}`, 2, false},
		{"small traces", `{"data":[{"spans":[` + span + `]},{"spans":[` + span + `]}]}`, 2, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			spans := 0
			var last error
			r := newReader(strings.NewReader(test.text), "answer", nil, func(rec op.Record, err error) bool {
				if rec.Span != nil {
					spans++
				}
				last = err
				return true
			})
			r.held.Hold = upTo(100, nil)
			r.answers()
			if spans != test.spans || (last != nil) != test.err {
				t.Errorf("%d spans, err = %v", spans, last)
			}
		})
	}
}
