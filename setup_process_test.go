package optrace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

// clearLaunchers unsets the variables of whatever started the tests.
func clearLaunchers(t *testing.T) {
	for _, name := range []string{
		"RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
	} {
		t.Setenv(name, "")
	}
}

func TestProcessDetector(t *testing.T) {
	none := attribute.NewSet()
	of := func(rank, size int) attribute.Set {
		return attribute.NewSet(attribute.Int("tensor.rank", rank), attribute.Int("tensor.world_size", size))
	}
	for _, test := range []struct {
		name string
		env  map[string]string
		want attribute.Set
	}{
		{"nothing", nil, none},
		{"torchrun", map[string]string{"RANK": "3", "WORLD_SIZE": "8"}, of(3, 8)},
		{"open MPI", map[string]string{"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}, of(0, 1)},
		{"MPICH", map[string]string{"PMI_RANK": "1", "PMI_SIZE": "2"}, of(1, 2)},
		{"slurm", map[string]string{"SLURM_PROCID": "15", "SLURM_STEP_NUM_TASKS": "16"}, of(15, 16)},
		{"torchrun below slurm", map[string]string{
			"RANK": "9", "WORLD_SIZE": "16", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2",
		}, of(9, 16)},
		{"a rank of something else", map[string]string{"RANK": "3"}, none},
		{"a size alone", map[string]string{"WORLD_SIZE": "3"}, none},
		{"no number", map[string]string{"RANK": "first", "WORLD_SIZE": "8"}, none},
		{"beyond the size", map[string]string{"RANK": "8", "WORLD_SIZE": "8"}, none},
		{"negative", map[string]string{"RANK": "-1", "WORLD_SIZE": "8"}, none},
		{"beyond 32 bits", map[string]string{"RANK": "1", "WORLD_SIZE": "4294967296"}, none},
		{"the next pair", map[string]string{"RANK": "x", "WORLD_SIZE": "8", "PMI_RANK": "1", "PMI_SIZE": "2"}, of(1, 2)},
	} {
		t.Run(test.name, func(t *testing.T) {
			clearLaunchers(t)
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			r, err := optrace.ProcessDetector().Detect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, process := r.Set().Filter(func(kv attribute.KeyValue) bool {
				return kv.Key == "tensor.rank" || kv.Key == "tensor.world_size"
			})
			if !got.Equals(&test.want) {
				t.Errorf("ranks are %v, want %v", got.ToSlice(), test.want.ToSlice())
			}
			host, err := os.Hostname()
			if err != nil {
				t.Fatal(err)
			}
			want := attribute.NewSet(attribute.String("host.name", host), attribute.Int("process.pid", os.Getpid()))
			if got := attribute.NewSet(process...); !got.Equals(&want) {
				t.Errorf("process is %v, want %v", got.ToSlice(), want.ToSlice())
			}
		})
	}
}

// What the environment says of the process stands in the file, and a report groups by it.
func TestSetupStatesProcess(t *testing.T) {
	clearLaunchers(t)
	t.Setenv("RANK", "3")
	t.Setenv("WORLD_SIZE", "8")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "service.instance.id=i-7,service.name=trainer,host.name=node-7")
	spans := func(sdk *optrace.SDK) {
		_, o := sdk.Tracer().Start(t.Context(), "matmul", "cuda:0")
		o.End()
	}
	noSpans := func(sdk *optrace.SDK) {
		rec := sdk.Processor().Recorder(t.Context())
		rec.Begin("matmul", "cuda:0")
		rec.Finish()
	}
	for _, test := range []struct {
		name   string
		format optrace.Format
		record func(*optrace.SDK)
	}{
		{"entries", optrace.FormatEntries, spans},
		{"OTLP JSON", optrace.FormatOTLPJSON, spans},
		{"OTLP protobuf", optrace.FormatOTLPProto, spans},
		{"entries of a Recorder", optrace.FormatEntries, noSpans},
		{"OTLP protobuf of a Recorder", optrace.FormatOTLPProto, noSpans},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ops")
			sdk, err := optrace.Setup(path, optrace.WithExporterOptions(optrace.WithFormat(test.format)))
			if err != nil {
				t.Fatal(err)
			}
			test.record(sdk)
			if err := sdk.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			by, err := key.Parse("service,rank,service.instance.id,host.name,process.pid,attr:tensor.world_size")
			if err != nil {
				t.Fatal(err)
			}
			var m op.Mapping
			for _, k := range by {
				if k.Attr() != "" {
					m.Keep(k.Attr())
				}
			}
			in := ingest.Options{Mapping: &m}.Open(path)
			report, err := analyze.Run(t.Context(), in, analyze.Options{By: by})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, g := range report.Groups {
				for _, v := range g.Key.Values {
					got = append(got, v.Text)
				}
			}
			want := []string{"trainer", "3", "i-7", "node-7", strconv.Itoa(os.Getpid()), "8"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What the environment of OpenTelemetry says of the rank wins.
func TestSetupStatesRankOfResource(t *testing.T) {
	clearLaunchers(t)
	t.Setenv("RANK", "3")
	t.Setenv("WORLD_SIZE", "8")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "tensor.rank=5")
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	sdk, err := optrace.Setup(path)
	if err != nil {
		t.Fatal(err)
	}
	_, o := sdk.Tracer().Start(t.Context(), "matmul", "cuda:0")
	o.End()
	if err := sdk.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for rec, err := range op.NewReader(bytes.NewReader(text), path).Records() {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Entry != nil && rec.Entry.Rank != op.Known(5) {
			t.Errorf("the rank is %+v", rec.Entry.Rank)
		}
	}
}
