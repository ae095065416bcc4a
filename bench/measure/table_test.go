package measure

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/optrace/optrace/internal/testing/check"
)

func TestFindSection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	check.OK(t, os.WriteFile(path, []byte("before\n<!-- table -->\nold\n<!-- end of table -->\nbehind\n"), 0o644))
	check.OK(t, check.Must(FindSection(path))(t)("new\n\n"))
	want := "before\n<!-- table -->\n\nnew\n\n<!-- end of table -->\nbehind\n"
	check.Equal(t, "document", want, string(check.Must(os.ReadFile(path))(t)))
	for _, text := range []string{"no table\n", "<!-- table -->\n", "<!-- end of table -->\n<!-- table -->\n"} {
		check.OK(t, os.WriteFile(path, []byte(text), 0o644))
		if _, err := FindSection(path); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
	if _, err := FindSection(filepath.Join(path, "missing")); err == nil {
		t.Error("a missing file is no error")
	}
}

func TestTable(t *testing.T) {
	one := Figures{5, 4, 6, 500, 100}
	many := Figures{3, 2.5, 4, 300, 100}
	rep := &Report{
		Rows: []Row{
			{
				Measure: Measure{Name: "fast", Limit: "memory", Target: 2,
					Cases: []Case{{Data: "one"}, {Data: "many"}}},
				Data: "many", Figures: many, Unit: "op", Cases: map[string]Figures{"one": one, "many": many},
			},
			{
				Measure: Measure{Name: "slow", Limit: "the disk", Target: 2, Cases: []Case{{}}},
				Figures: Figures{1, 1, 1, 5e8, 5e8}, Unit: "op",
			},
		},
		Reasons: map[string]string{"absent": "a tool"},
		Values:  map[string]float64{"lost_default_batch": 0.5},
	}
	want := `Measured on 2026-11-21. go1 on linux/amd64.

| name | ratio | on | other data | min–max | target | | peer | ours | limited by |
|---|--:|---|---|--:|--:|---|--:|--:|---|
| fast | 3.00 | many | one 5.00 | 2.50–4.00 | ≥ 2 | met |` +
		` 300 ns/op | 100 ns/op | memory |
| slow | 1.00 |  |  | 1.00–1.00 | ≥ 2 | **missed** | 0.50 s/op | 0.50 s/op | the disk |

| further figures | |
|---|--:|
| lost_default_batch | 0.5 |

- absent was **not run**: a tool
`
	check.Equal(t, "table", want, Table(rep, "go1 on linux/amd64", time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)))
}
