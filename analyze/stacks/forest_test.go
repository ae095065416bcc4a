package stacks

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/fulldisk"
)

func collapsed(t *testing.T, forest *trace.Forest) string {
	t.Helper()
	var b bytes.Buffer
	check.OK(t, WriteForest(forest, &b))
	return b.String()
}

func TestWriteCollapsed(t *testing.T) {
	tests := []struct {
		name  string
		specs []tracetest.Spec
		want  string
	}{
		{name: "empty"},
		{
			name: "the device comes before the first operation on it",
			specs: []tracetest.Spec{
				tracetest.SpanAt("POST /predict", 1, 0, 0, 100), tracetest.SpanAt("inference", 2, 1, 0, 100),
				tracetest.OpAt("relu", 3, 2, 0, 100), tracetest.OpAt("matmul", 4, 3, 20, 80), tracetest.OpAt("add", 5, 1, 0, 5),
			},
			want: "POST /predict;cuda:0;add 5\n" +
				"POST /predict;inference;cuda:0;relu 40\n" +
				"POST /predict;inference;cuda:0;relu;matmul 60\n",
		},
		{
			name: "another device is a frame again, no device is none",
			specs: []tracetest.Spec{
				tracetest.OpAt("a", 1, 0, 0, 50), tracetest.OpAt("b", 2, 1, 0, 40).On("cuda:1"), tracetest.OpAt("c", 3, 2, 0, 30).On(""),
				tracetest.OpAt("d", 4, 3, 0, 20).On("cuda:1"),
				tracetest.OpAt("e", 5, 4, 0, 10), tracetest.OpAt("alone", 6, 0, 0, 7).On(""),
			},
			want: "alone 7\n" +
				"cuda:0;a 10\n" +
				"cuda:0;a;cuda:1;b 10\n" +
				"cuda:0;a;cuda:1;b;c 10\n" +
				"cuda:0;a;cuda:1;b;c;d 10\n" +
				"cuda:0;a;cuda:1;b;c;d;cuda:0;e 10\n",
		},
		{
			name: "with several ranks a device has its rank",
			specs: []tracetest.Spec{tracetest.OpAt("a", 1, 0, 0, 50).OnRank(0), tracetest.OpAt("a", 2, 0, 0, 40).OnRank(1),
				tracetest.OpAt("a", 3, 0, 0, 30)},
			want: "0/cuda:0;a 50\n1/cuda:0;a 40\ncuda:0;a 30\n",
		},
		{
			name: "the host's view is a frame without weight and device",
			specs: []tracetest.Spec{
				tracetest.OpAt("aten::mm", 1, 0, 0, 50).On("cpu").FromHost(), tracetest.OpAt("gemm", 2, 1, 10, 90),
			},
			want: "aten::mm;cuda:0;gemm 80\n",
		},
		{
			name: "nothing without weight",
			specs: []tracetest.Spec{tracetest.OpAt("covered", 1, 0, 0, 50), tracetest.OpAt("all", 2, 1, 0, 50),
				tracetest.OpAt("mark", 3, 2, 50, 50)},
			want: "cuda:0;covered;all 50\n",
		},
		{
			name: "equal stacks are one, also once they are escaped",
			specs: []tracetest.Spec{
				tracetest.OpAt("a;b", 1, 0, 0, 1), tracetest.OpAt("a:b", 2, 0, 0, 2), tracetest.OpAt("a:b", 3, 0, 0, 4).In(2),
				tracetest.OpAt("x\ny\tz\x00", 4, 0, 0, 8), tracetest.OpAt("x y z ", 5, 0, 0, 16), tracetest.OpAt("\u2028\u0085\x7f\xff", 6, 0, 0, 32),
			},
			want: "cuda:0;   \ufffd 32\ncuda:0;a:b 7\ncuda:0;x y z  24\n",
		},
		{
			name: "sorted as the stacks are, byte by byte",
			specs: []tracetest.Spec{
				tracetest.OpAt("a", 1, 0, 0, 10).On(""), tracetest.OpAt("z", 2, 1, 0, 1).On(""), tracetest.OpAt("a b", 3, 0, 0, 10).On(""),
				tracetest.OpAt("y", 4, 3, 0, 1).On(""),
				tracetest.OpAt("a~", 5, 0, 0, 10).On(""), tracetest.OpAt("ab", 6, 0, 0, 10).On(""), tracetest.OpAt("", 7, 0, 0, 10).On(""),
				tracetest.OpAt("q", 8, 7, 0, 1).On(""),
			},
			want: " 9\n;q 1\na 9\na b 9\na b;y 1\na;z 1\nab 10\na~ 10\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check.Equal(t, "stacks", tt.want, collapsed(t, tracetest.AddTo(trace.New(), tt.specs...)))
		})
	}
}

// rawStack returns the frames above and of spec i, and its device.
func rawStack(n *tracetest.NaiveTree, i int, ranks bool) (frames []string, device device.Key) {
	if n.Duplicate[i] {
		if s := n.Specs[i]; s.Device != "" {
			frames = append(frames, s.DeviceKey().Label(ranks))
		}
		return append(frames, n.Specs[i].Name), n.Specs[i].DeviceKey()
	}
	if above := n.StackParent(i); above >= 0 {
		frames, device = rawStack(n, above, ranks)
	}
	s := n.Specs[i]
	if s.DeviceSide() && n.Launcher(i) < 0 && s.Launcher != "" && n.IsOutermost(i) {
		frames = append(frames, s.Launcher)
	}
	if s.DeviceSide() && s.Device != "" && s.DeviceKey() != device {
		device = s.DeviceKey()
		frames = append(frames, device.Label(ranks))
	}
	return append(frames, s.Name), device
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
	forest := trace.New()
	for i := range int64(depth) {
		forest.Add(tracetest.OpAt("call", uint64(i+1), uint64(i), i, 2*depth-i).Record())
	}
	lines, weights := parseCollapsed(t, collapsed(t, forest))
	sum, deepest := int64(0), 0
	for i, stack := range lines {
		deepest = max(deepest, len(stack))
		sum += weights[i]
	}
	if deepest != MaxDepth || sum != 2*depth {
		t.Errorf("%d frames, %d ns; want %d, %d", deepest, sum, MaxDepth, 2*depth)
	}
	for _, stack := range lines {
		if deeper := stack[len(stack)-1] == Deeper; deeper != (len(stack) == MaxDepth) {
			t.Errorf("%d frames end in %q", len(stack), stack[len(stack)-1])
		}
	}
}

func TestWriteCollapsedError(t *testing.T) {
	forest := trace.New()
	for i := range uint64(2000) {
		forest.Add(tracetest.OpAt(fmt.Sprint("operation ", i), i+1, 0, 0, 10).Record())
	}
	for _, limit := range []int{0, 100, 10_000} {
		check.Is(t, fmt.Sprintf("limit %d", limit), fulldisk.Err, WriteForest(forest, &fulldisk.Writer{Left: limit}))
	}
}

// Whatever names are, the stacks read back as what escapeFrame makes of them.
func FuzzWriteCollapsed(f *testing.F) {
	for _, name := range []string{"", "a", "a;b", "a b", "line\nbreak", "tab\t", "\x00\x1b[31m", "\xff\xfe", "\u2028", "x 5", "trace;5 5"} {
		f.Add("request", name, "cuda:0")
		f.Add(name, "matmul", name)
	}
	f.Fuzz(func(t *testing.T, root, name, on string) {
		forest := tracetest.AddTo(trace.New(), tracetest.SpanAt(root, 1, 0, 0, 10), tracetest.OpAt(name, 2, 1, 0, 7).On(on),
			tracetest.OpAt("x", 3, 2, 2, 5).On(on))
		frames := []string{Collapse(root)}
		if on != "" && on != device.Unknown {
			frames = append(frames, Collapse(on))
		}
		frames = append(frames, Collapse(name))
		for _, frame := range frames {
			if !utf8.ValidString(frame) || strings.Contains(frame, ";") || strings.ContainsFunc(frame, unicode.IsControl) {
				t.Errorf("frame %q", frame)
			}
			check.Equal(t, fmt.Sprintf("escaping %q again", frame), frame, Collapse(frame))
		}
		text := collapsed(t, forest)
		if !strings.HasSuffix(text, "\n") {
			t.Errorf("the last line of %q has no end", text)
		}
		lines, weights := parseCollapsed(t, text)
		check.Equal(t, "stacks", [][]string{frames, append(slices.Clone(frames), "x")}, lines)
		check.Equal(t, "weights", []int64{4, 3}, weights)
	})
}
