package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/program"
)

func textOf(t *testing.T, ps pprofile.Profiles) string {
	t.Helper()
	var m pprofile.JSONMarshaler
	text := check.Must(m.MarshalProfiles(ps))(t)
	return string(text)
}

// A Collector takes the profiles that the command pushes, and sends them on as they are.
func TestCollectorTakesPushedProfiles(t *testing.T) {
	allowProfiles(t)
	command := program.Optrace(t, "../../../..")
	dir, to, address := t.TempDir(), newBackend(t), freeAddress(t)
	config := filepath.Join(dir, "config.yaml")
	check.OK(t, os.WriteFile(config, fmt.Appendf(nil, pipelines, address, to.address, dir), 0o600))
	stop := start(t, config)
	var want, got []string
	samples := 0
	const root = "../../../../"
	files := [][]string{
		{root + "testdata/exporter_batch.jsonl"}, {root + "ingest/otlp/testdata/gate_off/traces.jsonl"},
		{root + "examples/offline/testdata/rank0.jsonl", root + "examples/offline/testdata/rank1.jsonl"},
	}
	for _, inputs := range files {
		args := append([]string{"convert", "-to", "otlp-profiles"}, inputs...)
		cmd := exec.CommandContext(t.Context(), command, append(args, "-push", "http://"+address)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var message bytes.Buffer
		cmd = exec.CommandContext(t.Context(), command, args...)
		cmd.Stdout = &message
		check.OK(t, cmd.Run())
		request := pprofileotlp.NewExportRequest()
		check.OK(t, request.UnmarshalProto(message.Bytes()))
		want = append(want, textOf(t, request.Profiles()))
		samples += request.Profiles().SampleCount()
	}
	stop()
	for _, ps := range to.asProfiles {
		got = append(got, textOf(t, ps))
	}
	if diff := cmp.Diff(want, got); diff != "" || samples < 10 {
		t.Errorf("%d samples (-sent +arrived):\n%s", samples, diff)
	}
}
