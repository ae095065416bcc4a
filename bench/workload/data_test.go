package workload

import (
	"fmt"
	"io"
	"testing"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/internal/testing/check"
)

func TestGet(t *testing.T) {
	env := &measure.Env{Cache: t.TempDir(), Progress: io.Discard}
	for _, f := range Formats() {
		c := Config{Ops: 600, Kind: G512}
		first := check.Must(Get(t.Context(), env, f, c))(t)
		if first.Ops != 600 || first.SumNS == 0 {
			t.Errorf("%s: %+v", f, first)
		}
		check.Equal(t, fmt.Sprintf("%s, the second time", f), first, check.Must(Get(t.Context(), env, f, c))(t))
	}
}
