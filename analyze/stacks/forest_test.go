package stacks

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/fulldisk"
	"github.com/optrace/optrace/op"
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

// Rows have shapes if the forest keeps them.
func TestStacksHaveShapes(t *testing.T) {
	e := tracetest.OpAt("matmul", 1, 0, 0, 10).Entry()
	e.InputShapes = []op.Shape{{2, 3}}
	e.DType = "f32"
	e.FLOPs = op.Known(12)
	forest := trace.New()
	forest.KeepShapes()
	forest.Add(op.Record{Entry: e})
	want := []Row{{
		Frames: []string{"cuda:0", "matmul"}, Labels: Labels{Device: "cuda:0", Kind: op.KindCompute, Shape: "2x3 f32"},
		Values: Values{Count: 1, TimeNS: 10, SelfNS: 10, FLOPs: 12},
	}}
	check.Equal(t, "", want, Of(forest).Rows())
}

// naiveTime returns the duration of operation i minus the durations of the nearest device operations below it.
func naiveTime(n *tracetest.NaiveTree, i int) int64 {
	if n.Duplicate[i] {
		return n.Specs[i].End - n.Specs[i].Start
	}
	left := n.Specs[i].End - n.Specs[i].Start
	var below func(int)
	below = func(i int) {
		for _, c := range n.Children(i) {
			if n.Specs[c].DeviceSide() {
				left -= n.Specs[c].End - n.Specs[c].Start
			} else {
				below(c)
			}
		}
	}
	below(i)
	return max(0, left)
}

func naiveRequest(n *tracetest.NaiveTree, i int) Request {
	if n.Duplicate[i] {
		return Request{}
	}
	owner := n.NaiveOwner(i)
	if n.Execution[i] >= 0 {
		owner = n.Execution[i]
	}
	switch {
	case owner < 0:
		return Request{}
	case owner >= len(n.Specs):
		s := n.Specs[owner-len(n.Specs)]
		return naiveIDs(s.Root, s.TraceID(), s.RootID)
	}
	s := n.Specs[owner]
	return naiveIDs(s.Name, s.TraceID(), s.ID)
}

func naiveIDs(name string, of op.TraceID, id uint64) Request {
	if of.IsZero() {
		id = 0
	}
	return Request{Name: name, TraceID: of, SpanID: trace.SpanID(id)}
}

func TestStacksAgainstNaive(t *testing.T) {
	cases.Inputs(t, 50, 500, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(30))
		naive := tracetest.NewNaiveTree(specs)
		forest := tracetest.AddTo(trace.New(), specs...)
		if !naive.FindExecutions() {
			return // links in a circle: see TestSharedExecutionsAddUp
		}
		ranks := make(map[op.Int]bool)
		for _, s := range specs {
			if s.DeviceSide() {
				ranks[s.Rank] = true
			}
		}
		var want []Row
		hosts, duplicates := int64(0), int64(0)
		for i, s := range specs {
			switch {
			case !s.IsOp || naive.Repeat[i]:
				continue
			case !s.DeviceSide():
				hosts++
				continue
			case naive.Duplicate[i]:
				duplicates++
			}
			row := Row{Labels: Labels{
				Kind: s.Kind, Request: naiveRequest(naive, i), Producer: Producer{Service: s.Service, Rank: s.Rank},
			}}
			row.Frames, _ = rawStack(naive, i, len(ranks) > 1)
			if s.Device != "" {
				row.Device = s.DeviceKey().Label(len(ranks) > 1)
			}
			at := slices.IndexFunc(want, func(w Row) bool {
				return w.Labels == row.Labels && slices.Equal(w.Frames, row.Frames)
			})
			if at < 0 {
				at = len(want)
				want = append(want, row)
			}
			want[at].Add(Values{Count: 1, TimeNS: naiveTime(naive, i), SelfNS: naive.Self(i), Bytes: s.Memory})
		}
		table := Of(forest)
		if table.HostSide != hosts || table.Duplicates != duplicates {
			t.Errorf("seed %d: %d of the host, %d duplicates, want %d and %d",
				seed, table.HostSide, table.Duplicates, hosts, duplicates)
		}
		order := func(a, b Row) int {
			return cmp.Compare(fmt.Sprintf("%q%v", a.Frames, a.Labels), fmt.Sprintf("%q%v", b.Frames, b.Labels))
		}
		got := table.Rows()
		slices.SortFunc(want, order)
		slices.SortFunc(got, order)
		check.Equal(t, fmt.Sprintf("seed %d", seed), want, got)
	})
}

func BenchmarkStacksOfForest(b *testing.B) {
	forest := tracetest.AddTo(trace.New(), tracetest.ServerRequests(200, 100)...)
	forest.Build()
	b.ReportAllocs()
	for b.Loop() {
		Of(forest)
	}
}
