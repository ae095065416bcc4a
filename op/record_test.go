package op_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

func TestErrorClass(t *testing.T) {
	for line, want := range map[string]string{
		`{"operation":`:                        "syntax",
		`{"operation":"relu","duration_us":x}`: "syntax",
		`relu`:                                 "syntax",
		`{"operation":"relu"}`:                 "invalid_record",
		`{"step":1,"duration_us":1}`:           "invalid_record",
		strings.Repeat(" ", entries.MaxLineBytes) + "1": "limit_exceeded",
	} {
		_, err := entries.NewReader(strings.NewReader(line+"\n"), "ops.jsonl").Next()
		syntax, ok := errors.AsType[*op.SyntaxError](err)
		if !ok {
			t.Errorf("%.40q: error %v", line, err)
		} else if got := syntax.Class.String(); got != want {
			t.Errorf("%.40q: error %v of class %s, want %s", line, err, got, want)
		}
	}
	check.Equal(t, "an unknown class is called", "other", op.ErrorClass(200).String())
}
