package workload

import (
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/internal/check"
)

func TestGet(t *testing.T) {
	env := &measure.Env{Cache: t.TempDir(), Progress: io.Discard}
	for _, f := range Formats() {
		c := Config{Ops: 600, Kind: G512}
		first := check.Must(Get(t.Context(), env, f, c))(t)
		about, err := os.Stat(first.Path)
		if err != nil || about.Size() == 0 || first.Ops != 600 || first.SumNS == 0 {
			t.Errorf("%s: %+v, %v", f, first, err)
		}
		again, err := Get(t.Context(), env, f, c)
		if diff := cmp.Diff(first, again); diff != "" || err != nil {
			t.Errorf("%s: the second time it is another file (-first +second):\n%s%v", f, diff, err)
		}
		stat, err := os.Stat(again.Path)
		if err != nil || !stat.ModTime().Equal(about.ModTime()) {
			t.Errorf("%s: made again although it was there (%v)", f, err)
		}
	}
}
