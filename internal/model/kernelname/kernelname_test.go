package kernelname_test

import (
	"os"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/model/kernelname"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
)

// testdata/names.txt has names from traces of PyTorch, Nsight Systems, vLLM, ROCm and TPUs, each below its short form.
func TestShort(t *testing.T) {
	const path = "testdata/names.txt"
	var got strings.Builder
	names := 0
	table := check.Must(os.ReadFile(path))(t)
	for line := range strings.Lines(string(table)) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "\t"); ok {
			names++
			short := kernelname.Short(name)
			got.WriteString(short + "\n\t" + name + "\n")
			if short == "" || len(short) > len(name) {
				t.Errorf("%q is %q in short", name, short)
			}
		}
	}
	if names < 60 {
		t.Errorf("%d names", names)
	}
	golden.Check(t, path, got.String())
}

// Names of equal short form differ in Long.
func TestLong(t *testing.T) {
	for _, test := range []struct{ name, short, long string }{
		{
			"void a::scale<4, a::Mul<float>, std::array<char*, 2ul> >(int, a::Mul<float>)",
			"scale<Mul>", "scale<4, Mul<float>, array<char, 2ul>>",
		},
		{
			"void a::scale<4, a::Mul<long>, std::array<char*, 2ul> >(int, a::Mul<long>)",
			"scale<Mul>", "scale<4, Mul<long>, array<char, 2ul>>",
		},
		{"matmul (big)", "matmul (big)", "matmul (big)"},
	} {
		check.Equal(t, test.name, test.short, kernelname.Short(test.name))
		check.Equal(t, test.name, test.long, kernelname.Long(test.name))
	}
}

// Truncated names and other texts do no harm.
func FuzzShort(f *testing.F) {
	for _, name := range []string{"void a<b(", "_ZN3abcI", "a<<<>", "x)/", "%", "Cijk_", "a(){lambda", "(int)4",
		"f<->>", "operator()",
		"_Z9999999999999999999a", "a<,>", "\xff<a>"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if short := kernelname.Short(name); name != "" && len(short) > len(name)+2 {
			t.Errorf("%q is longer: %q", name, short)
		}
		kernelname.Long(name)
	})
}

func TestTaskOf(t *testing.T) {
	tasks := map[kernelname.Task]string{
		kernelname.Aside: "aside", kernelname.Product: "product", kernelname.Convolution: "convolution",
		kernelname.Attention: "attention", kernelname.Products: "products",
	}
	golden.Lines(t, "testdata/tasks.txt", func(name string) string { return tasks[kernelname.TaskOf(name)] })
}
