package measure

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sampleReport() *Report {
	s := &Suite{Unit: "op"}
	return &Report{
		Results: []Result{
			{Measure: Measure{Name: "fast", Suite: s, Peer: "them", Ours: "us", Target: 2, Allocs: &AllocTarget{Per: 1, PerName: "op", Extra: true}},
				Ratio: Ratio{3, 2.5, 4}, PeerNS: 300, OursNS: 100, PeerAllocs: 4, OursAllocs: 4},
			{Measure: Measure{Name: "slow", Suite: s, Peer: "them", Ours: "us", Target: 2},
				Ratio: Ratio{1, 1, 1}, PeerNS: 5e8, OursNS: 5e8},
			{Measure: Measure{Name: "figure", Suite: s, Peer: "them", Ours: "us"}, Ratio: Ratio{7, 6, 8}, PeerNS: 70, OursNS: 10},
		},
		NotRun:  []string{"absent"},
		Reasons: map[string]string{"absent": "a tool"},
		Values:  map[string]float64{"lost_default_batch": 0.5},
	}
}

func TestWriteJSON(t *testing.T) {
	var out bytes.Buffer
	if err := WriteJSON(&out, sampleReport(), Machine{OS: "linux"}); err != nil {
		t.Fatal(err)
	}
	type detail struct {
		Peer   string  `json:"peer"`
		PeerNS float64 `json:"peer_ns"`
		Met    *bool   `json:"met"`
	}
	type form struct {
		Ratios  map[string]float64 `json:"ratios"`
		NotRun  []string           `json:"not_run"`
		Figures map[string]float64 `json:"figures"`
		Details map[string]detail  `json:"details"`
		Lost    float64            `json:"lost_default_batch"`
	}
	var got form
	dec := json.NewDecoder(&out)
	if err := dec.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if dec.More() {
		t.Error("there is more than one object")
	}
	yes, no := true, false
	want := form{
		Ratios: map[string]float64{"fast": 3, "slow": 1}, NotRun: []string{"absent"}, Figures: map[string]float64{"figure": 7},
		Details: map[string]detail{"fast": {"them", 300, &yes}, "slow": {"them", 5e8, &no}, "figure": {"them", 70, nil}},
		Lost:    0.5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Lists and objects are there also when they are empty.
func TestWriteJSONEmpty(t *testing.T) {
	var out bytes.Buffer
	if err := WriteJSON(&out, &Report{NotRun: []string{}}, Machine{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"ratios": {}`, `"not_run": []`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, out.String())
		}
	}
}

func TestWriteTable(t *testing.T) {
	var out bytes.Buffer
	if err := WriteTable(&out, sampleReport(), Machine{Go: "go1", OS: "linux", Arch: "amd64", CPU: "a CPU", CPUs: 2, GOGC: "100"}); err != nil {
		t.Fatal(err)
	}
	want := `go1 on linux/amd64, a CPU, 2 CPUs, GOGC 100; full run. Ratio = peer / ours, the median of rounds side by side.

name  peer       ours       ratio  min–max    target          allocations
fast  300 ns/op  100 ns/op  3.00   2.50–4.00  ≥ 2     met     4 (peer 4) per op, ≤ 0 extra: met
slow  0.50 s/op  0.50 s/op  1.00   1.00–1.00  ≥ 2     MISSED  

without a target  peer      ours      ratio  min–max        
figure            70 ns/op  10 ns/op  7.00   6.00–8.00      

Further figures:
lost_default_batch  0.5

Not run: absent (a tool)
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
