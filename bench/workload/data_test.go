package workload

import (
	"io"
	"os"
	"path/filepath"
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
		if err != nil || about.Size() != first.Size || first.Ops != 600 || first.SumNS == 0 {
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

func TestGetDamaged(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"cut off":    func(path string) error { return os.Truncate(path, 1000) },
		"other byte": func(path string) error { return overwrite(path, 5000) },
		"no figures": func(path string) error { return os.Remove(filepath.Join(filepath.Dir(path), aboutName)) },
		"no spans":   os.Remove,
		"bad figures": func(path string) error {
			return os.WriteFile(filepath.Join(filepath.Dir(path), aboutName), []byte("{"), 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := &measure.Env{Cache: t.TempDir(), Progress: io.Discard}
			c := Config{Ops: 100, Kind: G1}
			want := check.Must(Get(t.Context(), env, OTLPJSON, c))(t)
			check.OK(t, damage(want.Path))
			got, err := Get(t.Context(), env, OTLPJSON, c)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("(-before +after):\n%s%v", diff, err)
			}
		})
	}
}

func overwrite(path string, at int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte{0}, at); err != nil {
		return err
	}
	return f.Close()
}

func TestGetErrors(t *testing.T) {
	env := &measure.Env{Cache: t.TempDir(), Progress: io.Discard}
	if _, err := Get(t.Context(), env, "x", Config{Ops: 1, Kind: G1}); err == nil {
		t.Error("an unknown format is no error")
	}
	if _, err := Get(t.Context(), env, Entries, Config{}); err == nil {
		t.Error("no operations are no error")
	}
	if _, err := Get(t.Context(), env, Entries, Config{Ops: 1, Kind: "x"}); err == nil {
		t.Error("an unknown kind is no error")
	}
}
