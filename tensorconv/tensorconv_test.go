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
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// The keys are a contract with other instrumentation and readers.
func TestAttributes(t *testing.T) {
	verify := func(want, got attribute.KeyValue) {
		t.Helper()
		if got != want {
			t.Errorf("%s is %v of %s, want %v of %s", want.Key, got, got.Value.Type(), want, want.Value.Type())
		}
	}
	for key, of := range map[string]func(int64) attribute.KeyValue{
		"tensor.op.flop_count": tensorconv.OpFLOPCount, "tensor.stream.id": tensorconv.StreamID,
		"tensor.launch.time": tensorconv.LaunchTime, "tensor.clock.error": tensorconv.ClockError,
		"tensor.step": tensorconv.Step, "tensor.output.elements": tensorconv.OutputElements,
		"tensor.memory.size": tensorconv.MemorySize, "tensor.collective.group.size": tensorconv.CollectiveGroupSize,
		"tensor.collective.sequence":     tensorconv.CollectiveSequence,
		"tensor.collective.peer_rank":    tensorconv.CollectivePeerRank,
		"tensor.collective.in_elements":  tensorconv.CollectiveInElements,
		"tensor.collective.out_elements": tensorconv.CollectiveOutElements,
		"tensor.link.weight":             tensorconv.LinkWeight,
		"tensor.link.weight.attention":   tensorconv.LinkWeightAttention,
		"tensor.rank":                    tensorconv.Rank, "tensor.world_size": tensorconv.WorldSize,
	} {
		verify(attribute.Int64(key, 1<<60), of(1<<60))
	}
	for key, of := range map[string]func(string) attribute.KeyValue{
		"tensor.op.name": tensorconv.OpName, "tensor.op.path": tensorconv.OpPath,
		"tensor.device.id": tensorconv.DeviceID,
		"tensor.phase":     tensorconv.Phase, "tensor.collective.name": tensorconv.CollectiveName,
		"tensor.collective.group.name": tensorconv.CollectiveGroupName,
	} {
		verify(attribute.String(key, "a.0"), of("a.0"))
	}
	for _, tt := range []struct{ want, got attribute.KeyValue }{
		{attribute.String("tensor.op.kind", "memory"), tensorconv.OpKind(op.KindMemory)},
		{attribute.String("tensor.op.side", "host"), tensorconv.OpSideHost},
		{attribute.String("tensor.dtype", "f32"), tensorconv.DType(op.F32)},
		{attribute.StringSlice("tensor.input.dtypes", []string{"f32", "i64"}), tensorconv.InputDTypes(op.F32, op.I64)},
		{attribute.Slice("tensor.input.shapes"), tensorconv.InputShapes()},
		{attribute.Slice("tensor.input.shapes", attribute.Int64SliceValue([]int64{2, 3}),
			attribute.Int64SliceValue(nil), attribute.Value{}), tensorconv.InputShapes([]int64{2, 3}, []int64{}, nil)},
		{attribute.StringSlice("tensor.input.shapes", []string{"2x3", "[]", "?", "[-1,3]", "7"}),
			tensorconv.InputShapesText([]int64{2, 3}, []int64{}, nil, []int64{-1, 3}, []int64{7})},
		{attribute.Int64Slice("tensor.input.11.shape", []int64{2, 3}), tensorconv.InputShapeAt(11, 2, 3)},
		{attribute.Int64Slice("tensor.output.shape", []int64{2, 3}), tensorconv.OutputShape(2, 3)},
		{attribute.Int64Slice("tensor.output.shape", nil), tensorconv.OutputShape()},
	} {
		verify(tt.want, tt.got)
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
	extra := filepath.Join(dir, "docs/registry/extra.yaml")
	refused := func(text string) string {
		check.OK(t, os.WriteFile(extra, []byte(text), 0o600))
		if err := generate(); err != nil {
			return strings.ReplaceAll(err.Error(), dir, "DIR")
		}
		return "generated"
	}
	golden.Cases(t, "testdata/registries.txt", refused)
	if got := refused("groups: []\n---\ngroups: []"); !strings.Contains(got, "more than one document") {
		t.Errorf("two documents: %s", got)
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
