package text_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/doctor"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/internal/termtext"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/text"
)

// Whatever names are, the report holds no character that controls a terminal.
func FuzzWrite(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		r := check.Must(analyze.Run(t.Context(), analyze.Records(func(yield func(op.Record, error) bool) {
			_ = yield(op.Record{Entry: e}, nil) && yield(op.Record{}, &op.SyntaxError{File: e.Path, Line: 1, Msg: e.Error})
		}), analyze.Options{}))(t)
		got := render(t, r, text.Options{})
		if i := strings.IndexFunc(got, func(r rune) bool {
			return r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
		}); i >= 0 || !utf8.ValidString(got) {
			t.Errorf("a control character in %q", got[max(0, i-20):])
		}
	})
}

// What a recording lacks is told in lines that fit, code aside, and without control
// characters, in JSON too.
func FuzzWriteDoctor(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		r := check.Must(doctor.Run(t.Context(), analyze.Records(func(yield func(op.Record, error) bool) {
			_ = yield(op.Record{Entry: e}, nil) && yield(op.Record{}, &op.SyntaxError{File: e.Path, Line: 1, Msg: e.Error})
		})))(t)
		check.Must(json.Marshal(r))(t)
		code := make(map[string]bool)
		for _, finding := range r.Findings {
			for _, line := range finding.Go {
				code[line] = true
			}
			if finding.Missing > finding.Count || finding.Missing < 0 {
				t.Errorf("%s: %d of %d", finding.Name, finding.Missing, finding.Count)
			}
		}
		var b strings.Builder
		check.OK(t, text.WriteDoctor(&b, r, text.Options{Width: 80}))
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			isControl := func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }
			if strings.ContainsFunc(line, isControl) || !utf8.ValidString(line) {
				t.Errorf("a control character in %q", line)
			}
			_, isCode := code[strings.TrimPrefix(strings.TrimPrefix(line, "  Go          "), "              ")]
			if termtext.Width(line) > 80 && !isCode && !strings.HasSuffix(line, ")") { // lines of attributes end so
				t.Errorf("a line of %d columns: %q", termtext.Width(line), line)
			}
		}
	})
}
