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
