package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"

	"github.com/optrace/optrace/internal/program"
)

// profilesThrough is a configuration whose profiles come by HTTP to the first address and are
// sent to the second one.
const profilesThrough = `
receivers:
  otlp:
    protocols:
      http:
        endpoint: %[1]s
exporters:
  otlp_http:
    endpoint: http://%[2]s
service:
  telemetry:
    metrics:
      level: none
    logs:
      level: warn
  pipelines:
    profiles:
      receivers: [otlp]
      exporters: [otlp_http]
`

// sampleOf is what a sample says, without the numbers of a dictionary.
type sampleOf struct {
	resource, scope, profile string
	stack, attributes        string
	link                     string
	values                   string
}

// samplesOf returns the samples of profiles in their order.
func samplesOf(ps pprofile.Profiles) (all []sampleOf) {
	d := ps.Dictionary()
	text := func(i int32) string { return d.StringTable().At(int(i)) }
	attributes := func(indices []int32) string {
		var list []string
		for _, i := range indices {
			a := d.AttributeTable().At(int(i))
			list = append(list, text(a.KeyStrindex())+"="+a.Value().AsString())
		}
		return strings.Join(list, " ")
	}
	valueType := func(v pprofile.ValueType) string { return text(v.TypeStrindex()) + "/" + text(v.UnitStrindex()) }
	for _, rp := range ps.ResourceProfiles().All() {
		for _, sp := range rp.ScopeProfiles().All() {
			for _, p := range sp.Profiles().All() {
				for _, s := range p.Samples().All() {
					var frames []string
					for _, l := range d.StackTable().At(int(s.StackIndex())).LocationIndices().All() {
						function := d.LocationTable().At(int(l)).Lines().At(0).FunctionIndex()
						frames = append(frames, text(d.FunctionTable().At(int(function)).NameStrindex()))
					}
					link := d.LinkTable().At(int(s.LinkIndex()))
					all = append(all, sampleOf{
						resource: fmt.Sprint(rp.Resource().Attributes().AsRaw()), scope: sp.Scope().Name(),
						profile: fmt.Sprint(valueType(p.SampleType()), valueType(p.PeriodType()), p.Period(), p.Time(), p.DurationNano(),
							attributes(p.AttributeIndices().AsRaw())),
						stack: strings.Join(frames, ";"), attributes: attributes(s.AttributeIndices().AsRaw()),
						link: link.TraceID().String() + " " + link.SpanID().String(), values: fmt.Sprint(s.Values().AsRaw()),
					})
				}
			}
		}
	}
	return all
}

// A Collector takes the profiles that the command pushes, and sends them on as they are.
func TestCollectorTakesPushedProfiles(t *testing.T) {
	allowProfiles(t)
	command := program.Optrace(t, "../../../..")
	dir, to, address := t.TempDir(), newBackend(t), freeAddress(t)
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, profilesThrough, address, to.address), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := start(t, config)
	var want []sampleOf
	links, resources := make(map[string]bool), make(map[string]bool)
	const samples = "../../../../"
	files := [][]string{
		{samples + "testdata/exporter_batch.jsonl"}, {samples + "ingest/otlp/testdata/gate_off/traces.jsonl"},
		{samples + "examples/offline/testdata/rank0.jsonl", samples + "examples/offline/testdata/rank1.jsonl"},
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
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		request := pprofileotlp.NewExportRequest()
		if err := request.UnmarshalProto(message.Bytes()); err != nil {
			t.Fatal(err)
		}
		want = append(want, samplesOf(request.Profiles())...)
	}
	stop()
	for _, s := range want {
		links[s.link], resources[s.resource] = true, true
	}
	var got []sampleOf
	for _, ps := range to.asProfiles {
		got = append(got, samplesOf(ps)...)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sampleOf{})); diff != "" || len(to.asProfiles) != len(files) {
		t.Errorf("%d messages (-sent +arrived):\n%s", len(to.asProfiles), diff)
	}
	if len(want) < 10 || len(links) < 3 || len(resources) < 4 {
		t.Errorf("%d samples with %d links and %d resources say little", len(want), len(links), len(resources))
	}
}

// Without the gate it refuses them, and the command says so.
func TestCollectorRefusesPushedProfiles(t *testing.T) {
	dir, to, address := t.TempDir(), newBackend(t), freeAddress(t)
	config := filepath.Join(dir, "config.yaml")
	traces := strings.Replace(profilesThrough, "    profiles:\n", "    traces:\n", 1)
	if err := os.WriteFile(config, fmt.Appendf(nil, traces, address, to.address), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := start(t, config)
	defer stop()
	cmd := exec.CommandContext(t.Context(), program.Optrace(t, "../../../.."), "convert", "-to", "otlp-profiles", "-push", "http://"+address,
		"../../../../testdata/exporter_batch.jsonl")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 4 || !strings.Contains(string(out), "the receiver answers 404") {
		t.Errorf("%v: %s", err, out)
	}
}
