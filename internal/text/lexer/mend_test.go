package lexer_test

import (
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/text/lexer"
)

func TestMend(t *testing.T) {
	golden.Lines(t, "testdata/mend.txt", func(text string) string {
		got, found := lexer.Mend([]byte(text), 2)
		check.Equal(t, text+": found", text != string(got), found)
		return string(got)
	})
}
