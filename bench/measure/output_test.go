package measure

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/optrace/optrace/internal/check"
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

func TestWriteJSON(t *testing.T) {
	var out bytes.Buffer
	check.OK(t, WriteJSON(&out, sampleReport(), Machine{OS: "linux"}))
	type ratio struct {
		Ratio float64 `json:"ratio"`
	}
	type detail struct {
		Data   string           `json:"data"`
		Peer   string           `json:"peer"`
		PeerNS float64          `json:"peer_ns"`
		Met    *bool            `json:"met"`
		Cases  map[string]ratio `json:"cases"`
	}
	type form struct {
		Ratios  map[string]float64 `json:"ratios"`
		NotRun  []string           `json:"not_run"`
		Details map[string]detail  `json:"details"`
		Lost    float64            `json:"lost_default_batch"`
	}
	var got form
	dec := json.NewDecoder(&out)
	check.OK(t, dec.Decode(&got))
	if dec.More() {
		t.Error("there is more than one object")
	}
	yes, no := true, false
	want := form{
		Ratios: map[string]float64{"fast": 3, "slow": 1}, NotRun: []string{"absent"},
		Details: map[string]detail{
			"fast": {"many", "them", 300, &yes, map[string]ratio{"one": {5}, "many": {3}}},
			"slow": {"", "them", 5e8, &no, nil},
		},
		Lost: 0.5,
	}
	check.Equal(t, "", want, got)
}

// Lists and objects are there also when they are empty.
func TestWriteJSONEmpty(t *testing.T) {
	var out bytes.Buffer
	check.OK(t, WriteJSON(&out, &Report{NotRun: []string{}}, Machine{}))
	for _, want := range []string{`"ratios": {}`, `"not_run": []`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, out.String())
		}
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
