package tensorconv_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// The keys are a contract with other instrumentation and readers.
func TestAttributes(t *testing.T) {
	tests := []struct {
		kv    attribute.KeyValue
		key   string
		value attribute.Value
	}{
		{tensorconv.OpName("matmul"), "tensor.op.name", attribute.StringValue("matmul")},
		{tensorconv.OpKind(op.KindMemory), "tensor.op.kind", attribute.StringValue("memory")},
		{tensorconv.OpPath("encoder.0"), "tensor.op.path", attribute.StringValue("encoder.0")},
		{tensorconv.OpFLOPCount(7), "tensor.op.flop_count", attribute.Int64Value(7)},
		{tensorconv.OpSideHost, "tensor.op.side", attribute.StringValue("host")},
		{tensorconv.DeviceID("cuda:0"), "tensor.device.id", attribute.StringValue("cuda:0")},
		{tensorconv.StreamID(3), "tensor.stream.id", attribute.Int64Value(3)},
		{tensorconv.LaunchTime(1_700_000_000_000_000_000), "tensor.launch.time",
			attribute.Int64Value(1_700_000_000_000_000_000)},
		{tensorconv.ClockError(2000), "tensor.clock.error", attribute.Int64Value(2000)},
		{tensorconv.Step(12), "tensor.step", attribute.Int64Value(12)},
		{tensorconv.DType(op.F32), "tensor.dtype", attribute.StringValue("f32")},
		{tensorconv.InputDTypes(op.F32, op.I64), "tensor.input.dtypes",
			attribute.StringSliceValue([]string{"f32", "i64"})},
		{tensorconv.InputShapes(), "tensor.input.shapes", attribute.SliceValue()},
		{
			tensorconv.InputShapes([]int64{2, 3}, []int64{}, nil), "tensor.input.shapes",
			attribute.SliceValue(attribute.Int64SliceValue([]int64{2, 3}), attribute.Int64SliceValue(nil),
				attribute.Value{}),
		},
		{
			tensorconv.InputShapesText([]int64{2, 3}, []int64{}, nil, []int64{-1, 3}, []int64{7}),
			"tensor.input.shapes",
			attribute.StringSliceValue([]string{"2x3", "[]", "?", "[-1,3]", "7"}),
		},
		{tensorconv.InputShapeAt(11, 2, 3), "tensor.input.11.shape", attribute.Int64SliceValue([]int64{2, 3})},
		{tensorconv.OutputShape(2, 3), "tensor.output.shape", attribute.Int64SliceValue([]int64{2, 3})},
		{tensorconv.OutputShape(), "tensor.output.shape", attribute.Int64SliceValue(nil)},
		{tensorconv.OutputElements(6), "tensor.output.elements", attribute.Int64Value(6)},
		{tensorconv.MemorySize(24), "tensor.memory.size", attribute.Int64Value(24)},
		{tensorconv.CollectiveName("all_reduce"), "tensor.collective.name", attribute.StringValue("all_reduce")},
		{tensorconv.CollectiveGroupName("dp"), "tensor.collective.group.name", attribute.StringValue("dp")},
		{tensorconv.CollectiveGroupSize(8), "tensor.collective.group.size", attribute.Int64Value(8)},
		{tensorconv.CollectiveSequence(4), "tensor.collective.sequence", attribute.Int64Value(4)},
		{tensorconv.CollectivePeerRank(1), "tensor.collective.peer_rank", attribute.Int64Value(1)},
		{tensorconv.CollectiveInElements(5), "tensor.collective.in_elements", attribute.Int64Value(5)},
		{tensorconv.CollectiveOutElements(6), "tensor.collective.out_elements", attribute.Int64Value(6)},
		{tensorconv.LinkWeight(9), "tensor.link.weight", attribute.Int64Value(9)},
		{tensorconv.LinkWeightAttention(9), "tensor.link.weight.attention", attribute.Int64Value(9)},
		{tensorconv.Rank(2), "tensor.rank", attribute.Int64Value(2)},
		{tensorconv.WorldSize(4), "tensor.world_size", attribute.Int64Value(4)},
	}
	for _, tt := range tests {
		if string(tt.kv.Key) != tt.key || tt.kv.Value != tt.value {
			t.Errorf("%s is %v of %s, want %v of %s", tt.kv.Key, tt.kv.Value, tt.kv.Value.Type(), tt.value,
				tt.value.Type())
		}
	}
}

// A link has a weight unless that is 0.
func TestLink(t *testing.T) {
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	for weight, want := range map[int64][]attribute.KeyValue{0: nil, 9: {tensorconv.LinkWeight(9)}} {
		if l := tensorconv.Link(sc, weight); !l.SpanContext.Equal(sc) || !slices.Equal(l.Attributes, want) {
			t.Errorf("weight %d: %+v", weight, l)
		}
	}
}

// A link keeps further attributes. AttentionPairs counts the pairs of causal attention.
func TestLinkAttention(t *testing.T) {
	for before := range int64(5) {
		for tokens := range int64(5) {
			pairs := int64(0)
			for i := range tokens {
				pairs += before + i + 1
			}
			check.Equal(t, fmt.Sprintf("%d tokens after %d: pairs", tokens, before), pairs,
				tensorconv.AttentionPairs(before, tokens))
		}
	}
	want := []attribute.KeyValue{tensorconv.LinkWeight(2), tensorconv.LinkWeightAttention(40)}
	l := tensorconv.Link(trace.SpanContext{}, 2, tensorconv.LinkWeightAttention(40))
	if !slices.Equal(l.Attributes, want) {
		t.Errorf("%+v", l)
	}
}

// Constructors copy dimensions.
func TestShapesAreCopied(t *testing.T) {
	dims := []int64{2, 3}
	kvs := []attribute.KeyValue{tensorconv.InputShapes(dims), tensorconv.OutputShape(dims...),
		tensorconv.InputShapeAt(0, dims...)}
	dims[0] = 99
	want := []attribute.KeyValue{tensorconv.InputShapes([]int64{2, 3}), tensorconv.OutputShape(2, 3),
		tensorconv.InputShapeAt(0, 2, 3)}
	for i := range kvs {
		if kvs[i] != want[i] {
			t.Errorf("%s is %v after its dimensions changed, want %v", kvs[i].Key, kvs[i].Value, want[i].Value)
		}
	}
}

const (
	registry     = "docs/registry/tensor.yaml"
	constantFile = "internal/model/attrkey/names.go"
	pageFile     = "docs/conventions.md"
	schemaFile   = "docs/entries.schema.json"
)

var generatedFiles = []string{constantFile, "tensorconv/key.go", pageFile, schemaFile}

// newGenerator returns a function that runs the generator on a copy of its files, and the directory of the copy.
func newGenerator(t *testing.T) (generate func() error, dir string) {
	t.Helper()
	if _, err := os.Stat("../go.work"); err != nil || os.Getenv("GOWORK") == "off" {
		t.Skip("the generator needs the modules of go.work")
	}
	dir = t.TempDir()
	check.OK(t, os.CopyFS(filepath.Join(dir, "docs/registry"), os.DirFS("../docs/registry")))
	for _, path := range generatedFiles {
		check.OK(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o700))
		check.OK(t, os.WriteFile(filepath.Join(dir, path), check.Must(os.ReadFile(filepath.Join("..", path)))(t),
			0o600))
	}
	program := filepath.Join(dir, "generate")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "generate.go").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func() error {
		out, err := exec.CommandContext(t.Context(), program, "-root", dir).CombinedOutput()
		if err != nil {
			err = &failed{string(out)}
		}
		return err
	}, dir
}

type failed struct{ text string }

func (f *failed) Error() string { return f.text }

// replace replaces the first before in a file by after.
func replace(t *testing.T, path, before, after string) {
	t.Helper()
	text := check.Must(os.ReadFile(path))(t)
	if !bytes.Contains(text, []byte(before)) {
		t.Fatalf("%s does not contain %q", path, before)
	}
	check.OK(t, os.WriteFile(path, bytes.Replace(text, []byte(before), []byte(after), 1), 0o600))
}

// The generated files are up to date. A change in the registry changes each of them, and a second run changes no file.
func TestGeneratedFilesFollowTheRegistry(t *testing.T) {
	generate, dir := newGenerator(t)
	read := func(root, path string) string { return string(check.Must(os.ReadFile(filepath.Join(root, path)))(t)) }
	check.OK(t, generate())
	for _, path := range generatedFiles {
		check.Equal(t, path+": run go generate ./tensorconv", read(dir, path), read("..", path))
	}
	replace(t, filepath.Join(dir, registry), "id: tensor.op.name\n", "id: tensor.op.changed\n")
	replace(t, filepath.Join(dir, registry), "brief: The name of the operation", "brief: The name that was changed")
	replace(t, filepath.Join(dir, "docs/registry/spans.yaml"), "ref: tensor.op.name\n", "ref: tensor.op.changed\n")
	check.OK(t, generate())
	changed := make(map[string]string)
	for _, path := range generatedFiles {
		changed[path] = read(dir, path)
		if !strings.Contains(changed[path], "changed") {
			t.Errorf("%s does not follow the registry", path)
		}
	}
	check.OK(t, generate())
	for path, text := range changed {
		check.Equal(t, path+" after a second run", text, read(dir, path))
	}
}

// The generator refuses registries and pages that break a rule.
func TestGeneratorErrors(t *testing.T) {
	generate, dir := newGenerator(t)
	const one = "{id: tensor.y, type: int, stability: development, brief: The y., examples: [1]}"
	const group = "groups:\n- {id: registry.tensor.x, type: attribute_group, brief: The y., attributes: ["
	span := func(attribute string) string {
		return group + one + "]}\n- {id: span.x, type: span, brief: An x., attributes: [{ref: " + attribute + "}]}"
	}
	with := func(old, now string) string { return group + strings.Replace(one, old, now, 1) + "]}" }
	extra := filepath.Join(dir, "docs/registry/extra.yaml")
	for _, tt := range []struct{ registry, want string }{
		{group + one + "]}", ""},
		{group + one + ", " + one + "]}", "tensor.y: there twice"},
		{with("tensor.y", "Tensor-y"), "no name of an attribute"},
		{with("int", "integer"), `line 2: unknown type "integer"`},
		{with("int", "{members: []}"), "without name and members"},
		{with("The y.", "An y"), "the brief is no description"},
		{with("examples: [1]", "sample: [1]"), "field sample not found"},
		{with(", examples: [1]", ""), "no stability, type or examples"},
		{group + "{ref: hw.name, brief: The id.}]}", "hw.name: no type"},
		{with("examples: [1]", "examples: [1], annotations: {key: Name}"),
			"tensor.op.name: tensor.y also has the key Name"},
		{span("tensor.z, requirement_level: required"), `refers to "tensor.z"`},
		{span("tensor.y"), "tensor.y has no requirement level"},
		{span("tensor.y, requirement_level: perhaps"), `unknown requirement level "perhaps"`},
		{"groups: []\n---\ngroups: []", "more than one document"},
	} {
		check.OK(t, os.WriteFile(extra, []byte(tt.registry), 0o600))
		if err := generate(); tt.want == "" {
			check.OK(t, err)
		} else {
			check.Says(t, tt.registry, tt.want, err)
		}
	}
	check.OK(t, os.Remove(extra))
	replace(t, filepath.Join(dir, schemaFile), `"compute"`, `"computing"`)
	check.Says(t, "an enumeration", "the registry", generate())
	page := filepath.Join(dir, pageFile)
	text := string(check.Must(os.ReadFile(page))(t))
	for _, broken := range []string{text + text, text[:len(text)/2], ""} {
		check.OK(t, os.WriteFile(page, []byte(broken), 0o600))
		check.Says(t, "marks of the page", "there is not one part", generate())
	}
}
