package text_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/optest"
	"github.com/optrace/optrace/render/text"
)

// Whatever names are, the report holds no character that controls a terminal.
func FuzzWrite(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		r, err := analyze.Run(t.Context(), analyze.Records(func(yield func(op.Record, error) bool) {
			_ = yield(op.Record{Entry: e}, nil) && yield(op.Record{}, &op.SyntaxError{File: e.Path, Line: 1, Msg: e.Error})
		}), analyze.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := render(t, r, text.Options{})
		if i := strings.IndexFunc(got, func(r rune) bool {
			return r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
		}); i >= 0 || !utf8.ValidString(got) {
			t.Errorf("a control character in %q", got[max(0, i-20):])
		}
	})
}
