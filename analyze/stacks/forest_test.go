package stacks

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/fulldisk"
)

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

func TestWriteCollapsedError(t *testing.T) {
	forest := trace.New()
	for i := range uint64(2000) {
		forest.Add(tracetest.OpAt(fmt.Sprint("operation ", i), i+1, 0, 0, 10).Record())
	}
	for _, limit := range []int{0, 100, 10_000} {
		check.Is(t, fmt.Sprintf("limit %d", limit), fulldisk.Err, WriteForest(forest, &fulldisk.Writer{Left: limit}))
	}
}

// Stacks have the frames of Collapse for any names, without separators of frames and lines.
func FuzzWriteCollapsed(f *testing.F) {
	for _, name := range []string{
		"", "a", "a;b", "a b", "line\nbreak", "tab\t", "\x00\x1b[31m", "\xff\xfe", "\u2028", "x 5", "trace;5 5",
	} {
		f.Add("request", name, "cuda:0")
		f.Add(name, "matmul", name)
	}
	f.Fuzz(func(t *testing.T, root, name, on string) {
		forest := tracetest.AddTo(trace.New(),
			tracetest.SpanAt(root, 1, 0, 0, 10), tracetest.OpAt(name, 2, 1, 0, 7).On(on), tracetest.OpAt("x", 3,
				2, 2, 5).On(on))
		frames := []string{Collapse(root)}
		if on != "" && on != device.Unknown {
			frames = append(frames, Collapse(on))
		}
		frames = append(frames, Collapse(name))
		for _, frame := range frames {
			separates := func(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune(";\u2028\u2029", r) }
			if !utf8.ValidString(frame) || strings.ContainsFunc(frame, separates) {
				t.Errorf("frame %q", frame)
			}
			check.Equal(t, fmt.Sprintf("escaping %q again", frame), frame, Collapse(frame))
		}
		var text strings.Builder
		check.OK(t, WriteForest(forest, &text))
		stack := strings.Join(frames, ";")
		check.Equal(t, "stacks", stack+" 4\n"+stack+";x 3\n", text.String())
	})
}
