package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/doctor"
	"github.com/optrace/optrace/cmd/optrace/internal/help"
	"github.com/optrace/optrace/internal/testing/golden"
)

// Doctor on real recordings and on the samples of this repository.
func TestDoctorSamples(t *testing.T) {
	for name, path := range map[string]string{
		"ops":         "testdata/ops.jsonl",
		"requests":    "testdata/requests.jsonl",
		"seed":        "testdata/figures/14_seed.json",
		"links":       "testdata/figures/16_links.otlp.json",
		"kineto_rocm": recorded + "/kineto/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
		"kineto_nccl": recorded + "/kineto/nccl_data.json.gz",
		"collector":   recorded + "/collector/gate_off/traces.pb.zst",
		"jaeger":      recorded + "/jaeger/v1.76/search.v1.json",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(path); err != nil && strings.HasPrefix(path, recorded) {
				t.Skipf("needs the recorded traces in %s", recorded)
			}
			golden.Check(t, filepath.Join("testdata", "doctor", name+".txt"),
				succeeds(t, "doctor", "-width", "120", path))
		})
	}
}

// The figures named by a finding are keys of the reports.
func TestDoctorNamesFigures(t *testing.T) {
	keys := make(map[string]bool)
	for _, k := range help.Keys(reflect.TypeFor[analyze.Report]()) {
		keys[k.Path] = true
	}
	for _, k := range help.Keys(reflect.TypeFor[correlate.Report]()) {
		keys["correlate "+strings.TrimPrefix(k.Path, ".")] = true
	}
	for _, f := range doctor.New().Report(analyze.Envelope{}).Findings {
		for _, figure := range f.Figures {
			if !keys[figure] && !keys["."+figure] && !keys["."+figure+"[]"] {
				t.Errorf("%s: no report has %s", f.Name, figure)
			}
		}
	}
}
