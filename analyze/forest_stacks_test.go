package analyze

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/fulldisk"
	"github.com/optrace/optrace/op"
)

func collapsed(t *testing.T, forest *Forest) string {
	t.Helper()
	var b bytes.Buffer
	if err := forest.WriteCollapsed(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWriteCollapsed(t *testing.T) {
	tests := []struct {
		name  string
		specs []spec
		want  string
	}{
		{name: "empty"},
		{
			name: "the device comes before the first operation on it",
			specs: []spec{
				spanAt("POST /predict", 1, 0, 0, 100), spanAt("inference", 2, 1, 0, 100),
				opAt("relu", 3, 2, 0, 100), opAt("matmul", 4, 3, 20, 80), opAt("add", 5, 1, 0, 5),
			},
			want: "POST /predict;cuda:0;add 5\n" +
				"POST /predict;inference;cuda:0;relu 40\n" +
				"POST /predict;inference;cuda:0;relu;matmul 60\n",
		},
		{
			name: "another device is a frame again, no device is none",
			specs: []spec{
				opAt("a", 1, 0, 0, 50), opAt("b", 2, 1, 0, 40).on("cuda:1"), opAt("c", 3, 2, 0, 30).on(""), opAt("d", 4, 3, 0, 20).on("cuda:1"),
				opAt("e", 5, 4, 0, 10), opAt("alone", 6, 0, 0, 7).on(""),
			},
			want: "alone 7\n" +
				"cuda:0;a 10\n" +
				"cuda:0;a;cuda:1;b 10\n" +
				"cuda:0;a;cuda:1;b;c 10\n" +
				"cuda:0;a;cuda:1;b;c;d 10\n" +
				"cuda:0;a;cuda:1;b;c;d;cuda:0;e 10\n",
		},
		{
			name:  "with several ranks a device has its rank",
			specs: []spec{opAt("a", 1, 0, 0, 50).onRank(0), opAt("a", 2, 0, 0, 40).onRank(1), opAt("a", 3, 0, 0, 30)},
			want:  "0/cuda:0;a 50\n1/cuda:0;a 40\ncuda:0;a 30\n",
		},
		{
			name: "the host's view is a frame without weight and device",
			specs: []spec{
				opAt("aten::mm", 1, 0, 0, 50).on("cpu").fromHost(), opAt("gemm", 2, 1, 10, 90),
			},
			want: "aten::mm;cuda:0;gemm 80\n",
		},
		{
			name:  "nothing without weight",
			specs: []spec{opAt("covered", 1, 0, 0, 50), opAt("all", 2, 1, 0, 50), opAt("mark", 3, 2, 50, 50)},
			want:  "cuda:0;covered;all 50\n",
		},
		{
			name: "equal stacks are one, also once they are escaped",
			specs: []spec{
				opAt("a;b", 1, 0, 0, 1), opAt("a:b", 2, 0, 0, 2), opAt("a:b", 3, 0, 0, 4).in(2),
				opAt("x\ny\tz\x00", 4, 0, 0, 8), opAt("x y z ", 5, 0, 0, 16), opAt("\u2028\u0085\x7f\xff", 6, 0, 0, 32),
			},
			want: "cuda:0;   \ufffd 32\ncuda:0;a:b 7\ncuda:0;x y z  24\n",
		},
		{
			name: "sorted as the stacks are, byte by byte",
			specs: []spec{
				opAt("a", 1, 0, 0, 10).on(""), opAt("z", 2, 1, 0, 1).on(""), opAt("a b", 3, 0, 0, 10).on(""), opAt("y", 4, 3, 0, 1).on(""),
				opAt("a~", 5, 0, 0, 10).on(""), opAt("ab", 6, 0, 0, 10).on(""), opAt("", 7, 0, 0, 10).on(""), opAt("q", 8, 7, 0, 1).on(""),
			},
			want: " 9\n;q 1\na 9\na b 9\na b;y 1\na;z 1\nab 10\na~ 10\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, collapsed(t, addTo(NewForest(), tt.specs...))); diff != "" {
				t.Errorf("stacks (-want +got):\n%s", diff)
			}
		})
	}
}

// rawStack returns the frames above and of spec i, and its device.
func (n *naiveTree) rawStack(i int, ranks bool) (frames []string, device DeviceKey) {
	if n.parent[i] >= 0 {
		frames, device = n.rawStack(n.parent[i], ranks)
	}
	s := n.specs[i]
	if s.deviceSide() && s.device != "" && s.deviceKey() != device {
		device = s.deviceKey()
		frames = append(frames, device.Label(ranks))
	}
	return append(frames, s.name), device
}

func TestWriteCollapsedAgainstNaive(t *testing.T) {
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		specs := randomSpecs(r, r.IntN(30))
		forest, naive := addTo(NewForest(), specs...), newNaiveTree(specs)
		ranks := make(map[op.Int]bool)
		for _, s := range specs {
			if s.deviceSide() {
				ranks[s.rank] = true
			}
		}
		weights := make(map[string]int64)
		for i, s := range specs {
			if s.deviceSide() && !naive.duplicate[i] {
				frames, _ := naive.rawStack(i, len(ranks) > 1)
				weights[stacks.Collapse(frames...)] += naive.self(i)
			}
		}
		var want strings.Builder
		for _, stack := range slices.Sorted(maps.Keys(weights)) {
			if weights[stack] > 0 {
				fmt.Fprintf(&want, "%s %d\n", stack, weights[stack])
			}
		}
		if diff := cmp.Diff(want.String(), collapsed(t, forest)); diff != "" {
			t.Errorf("seed %d: stacks (-want +got):\n%s", seed, diff)
		}
	})
}

// parseCollapsed reads collapsed stacks as flame graph tools do.
func parseCollapsed(t *testing.T, text string) (lines [][]string, weights []int64) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		space := strings.LastIndexByte(line, ' ')
		if space < 0 {
			t.Fatalf("no weight in %q", line)
		}
		weight, err := strconv.ParseInt(line[space+1:], 10, 64)
		if err != nil || weight <= 0 {
			t.Fatalf("weight of %q: %d, %v", line, weight, err)
		}
		lines, weights = append(lines, strings.Split(line[:space], ";")), append(weights, weight)
	}
	return lines, weights
}

func TestStackDepthIsBounded(t *testing.T) {
	const depth = 3000
	forest := NewForest()
	for i := range int64(depth) {
		forest.Add(opAt("call", uint64(i+1), uint64(i), i, 2*depth-i).record())
	}
	lines, weights := parseCollapsed(t, collapsed(t, forest))
	sum, deepest := int64(0), 0
	for i, stack := range lines {
		deepest = max(deepest, len(stack))
		sum += weights[i]
	}
	if deepest != stacks.MaxDepth || sum != 2*depth {
		t.Errorf("%d frames, %d ns; want %d, %d", deepest, sum, stacks.MaxDepth, 2*depth)
	}
	for _, stack := range lines {
		if deeper := stack[len(stack)-1] == stacks.Deeper; deeper != (len(stack) == stacks.MaxDepth) {
			t.Errorf("%d frames end in %q", len(stack), stack[len(stack)-1])
		}
	}
}

func TestWriteCollapsedError(t *testing.T) {
	forest := NewForest()
	for i := range uint64(2000) {
		forest.Add(opAt(fmt.Sprint("operation ", i), i+1, 0, 0, 10).record())
	}
	for _, limit := range []int{0, 100, 10_000} {
		if err := forest.WriteCollapsed(&fulldisk.Writer{Left: limit}); !errors.Is(err, fulldisk.Err) {
			t.Errorf("limit %d: error %v, want %v", limit, err, fulldisk.Err)
		}
	}
}

// Whatever names are, the stacks read back as what escapeFrame makes of them.
func FuzzWriteCollapsed(f *testing.F) {
	for _, name := range []string{"", "a", "a;b", "a b", "line\nbreak", "tab\t", "\x00\x1b[31m", "\xff\xfe", "\u2028", "x 5", "trace;5 5"} {
		f.Add("request", name, "cuda:0")
		f.Add(name, "matmul", name)
	}
	f.Fuzz(func(t *testing.T, root, name, device string) {
		forest := addTo(NewForest(), spanAt(root, 1, 0, 0, 10), opAt(name, 2, 1, 0, 7).on(device), opAt("x", 3, 2, 2, 5).on(device))
		frames := []string{stacks.Collapse(root)}
		if device != "" && device != UnknownDevice {
			frames = append(frames, stacks.Collapse(device))
		}
		frames = append(frames, stacks.Collapse(name))
		for _, frame := range frames {
			if !utf8.ValidString(frame) || strings.Contains(frame, ";") || strings.ContainsFunc(frame, unicode.IsControl) {
				t.Errorf("frame %q", frame)
			}
			if stacks.Collapse(frame) != frame {
				t.Errorf("escaping %q again gives %q", frame, stacks.Collapse(frame))
			}
		}
		text := collapsed(t, forest)
		if !strings.HasSuffix(text, "\n") {
			t.Errorf("the last line of %q has no end", text)
		}
		lines, weights := parseCollapsed(t, text)
		if diff := cmp.Diff([][]string{frames, append(slices.Clone(frames), "x")}, lines); diff != "" {
			t.Errorf("stacks (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int64{4, 3}, weights); diff != "" {
			t.Errorf("weights (-want +got):\n%s", diff)
		}
	})
}
