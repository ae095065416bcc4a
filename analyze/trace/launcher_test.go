package trace_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
)

func TestLauncher(t *testing.T) {
	host := func(name string, id, parent uint64, start, end int64) tracetest.Spec {
		return tracetest.OpAt(name, id, parent, start, end).On("cpu").FromHost()
	}
	kernel := tracetest.OpAt("kernel", 9, 0, 50, 60)
	for _, test := range []struct {
		name   string
		hosts  []tracetest.Spec
		kernel tracetest.Spec
		want   string
	}{
		{"nothing launched it", []tracetest.Spec{host("a", 1, 0, 0, 100)}, kernel, ""},
		{"the operator that it names", []tracetest.Spec{host("a", 1, 0, 0, 100), host("b", 2, 0, 0, 100)},
			kernel.LaunchedBy("other", 1).LaunchedAt(5), "a"},
		{"an operator that was not read", []tracetest.Spec{host("a", 1, 0, 0, 100)}, kernel.LaunchedBy("other", 7), "other"},
		{"the one above it", []tracetest.Spec{host("a", 1, 0, 0, 10), tracetest.SpanAt("s", 3, 1, 0, 99)}, func() tracetest.Spec {
			k := kernel.LaunchedAt(20)
			k.Parent = 3
			return k
		}(), "a"},
		{"the innermost at its launch", []tracetest.Spec{host("a", 1, 0, 0, 40), host("b", 2, 1, 10, 20), host("c", 3, 1, 22, 30)},
			kernel.LaunchedAt(15), "b"},
		{"between two", []tracetest.Spec{host("a", 1, 0, 0, 40), host("b", 2, 1, 10, 20), host("c", 3, 1, 22, 30)}, kernel.LaunchedAt(20), "a"},
		{"behind all", []tracetest.Spec{host("a", 1, 0, 0, 40)}, kernel.LaunchedAt(40), ""},
		{"of another rank", []tracetest.Spec{host("a", 1, 0, 0, 40).OnRank(1)}, kernel.LaunchedAt(5), ""},
		{"of another trace", []tracetest.Spec{host("a", 1, 0, 0, 40).In(2)}, kernel.LaunchedAt(5), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := tracetest.AddTo(trace.New(), append(test.hosts, test.kernel)...)
			f.Build()
			check.Equal(t, "launched by", test.want, f.LauncherName(f.Rows()-1))
		})
	}
}

func TestLauncherAgainstNaive(t *testing.T) {
	cases.Seeds(t, 300, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(40))
		f, naive := tracetest.AddTo(trace.New(), specs...), tracetest.NewNaiveTree(specs)
		f.Build()
		for i, s := range specs {
			check.Equal(t, fmt.Sprintf("seed %d: operation %d (%+v) is launched by", seed, i, s), naive.Launcher(i), int(f.Launcher(int32(i))))
			if got, want := f.LauncherName(int32(i)), naive.LauncherName(i); s.DeviceSide() && got != want {
				t.Errorf("seed %d: operation %d is launched by %q, want %q", seed, i, got, want)
			}
		}
	})
}
