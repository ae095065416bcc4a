package measure

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/optrace/optrace/internal/testing/check"
)

func sampleReport() *Report {
	one := Figures{"them", "us", 5, 500, 100, 4, 6}
	many := Figures{"them", "us", 3, 300, 100, 2.5, 4}
	yes, no := true, false
	return &Report{
		Rows: []Row{
			{
				Measure: Measure{Name: "fast", Limit: "memory", Cases: []Case{{Data: "one"}, {Data: "many"}}}, Data: "many", Figures: many,
				Unit: "op", Target: 2, Met: &yes, Allocs: &Allocs{"op", 4, 4, 0, true, true}, Cases: map[string]Figures{"one": one, "many": many},
			},
			{
				Measure: Measure{Name: "slow", Limit: "the disk", Cases: []Case{{}}}, Figures: Figures{"them", "us", 1, 5e8, 5e8, 1, 1},
				Unit: "op", Target: 2, Met: &no,
			},
		},
		NotRun:  []string{"absent"},
		Reasons: map[string]string{"absent": "a tool"},
		Values:  map[string]float64{"lost_default_batch": 0.5},
	}
}

// Lists and objects are there also when they are empty.
func TestWriteJSON(t *testing.T) {
	for _, tt := range []struct {
		rep  *Report
		want string // without its breaks
	}{
		{sampleReport(), `{"ratios":{"fast":3,"slow":1},"not_run":["absent"],"reasons":{"absent":"a tool"},"details":{
"fast":{"data":"many","peer":"them","ours":"us","ratio":3,"peer_ns":300,"ours_ns":100,"min":2.5,"max":4,"unit":"op","target":2,"met":true,
"allocs":{"per":"op","peer":4,"ours":4,"max":0,"extra":true,"met":true},
"cases":{"many":{"peer":"them","ours":"us","ratio":3,"peer_ns":300,"ours_ns":100,"min":2.5,"max":4},
"one":{"peer":"them","ours":"us","ratio":5,"peer_ns":500,"ours_ns":100,"min":4,"max":6}}},
"slow":{"peer":"them","ours":"us","ratio":1,"peer_ns":500000000,"ours_ns":500000000,"min":1,"max":1,"unit":"op","target":2,"met":false}},
"values":{"lost_default_batch":0.5},"lost_default_batch":0.5,
"machine":{"os":"linux","arch":"","cpus":0,"go":"","gogc":"","quick":false}}`},
		{&Report{NotRun: []string{}}, `{"ratios":{},"not_run":[],"reasons":null,"details":{},"values":null,
"machine":{"os":"linux","arch":"","cpus":0,"go":"","gogc":"","quick":false}}`},
	} {
		var out, compact bytes.Buffer
		check.OK(t, WriteJSON(&out, tt.rep, Machine{OS: "linux"}))
		check.OK(t, json.Compact(&compact, out.Bytes()))
		check.Equal(t, "", strings.ReplaceAll(tt.want, "\n", ""), strings.TrimSpace(compact.String()))
	}
}

func TestTable(t *testing.T) {
	got := Table(sampleReport(), Machine{Go: "go1", OS: "linux", Arch: "amd64", CPU: "a CPU", CPUs: 2, GOGC: "100"},
		time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
	want := `Measured on 2026-11-21. go1 on linux/amd64, a CPU, 2 CPUs, GOGC 100.

| name | ratio | on | other data | min–max | target | | peer | ours | limited by |
|---|--:|---|---|--:|--:|---|--:|--:|---|
| fast | 3.00 | many | one 5.00 | 2.50–4.00 | ≥ 2 | met; 4 allocations (peer 4) per op, ≤ 0 extra: met |` +
		` 300 ns/op | 100 ns/op | memory |
| slow | 1.00 |  |  | 1.00–1.00 | ≥ 2 | **missed** | 0.50 s/op | 0.50 s/op | the disk |

| further figures | |
|---|--:|
| lost_default_batch | 0.5 |

- absent was **not run**: a tool
`
	check.Equal(t, "", want, got)
}
