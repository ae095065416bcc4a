package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/otlptest"
	"github.com/optrace/optrace/op"
)

// converted returns the output of a conversion to a file and the name of the file.
func converted(t *testing.T, format string, inputs ...string) (text []byte, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "out")
	succeeds(t, append([]string{"convert", "-to", format, "-o", file}, inputs...)...)
	return check.Must(os.ReadFile(file))(t), file
}

func tempInput(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// randomTraces returns random spans with valid times and keys, kept by all formats.
func randomTraces(t *testing.T, r *rand.Rand) ptrace.Traces {
	t.Helper()
	text := check.Must(proto.Marshal(otlptest.RandomTraces(r, 1+r.IntN(3), 5)))(t)
	td := check.Must((&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(text))(t)
	for _, rs := range td.ResourceSpans().All() {
		rs.Resource().SetDroppedAttributesCount(0)
		rs.Resource().Attributes().PutStr("service.name", "svc")
		distinct(rs.Resource().Attributes(), 0)
		for _, ss := range rs.ScopeSpans().All() {
			ss.Scope().SetDroppedAttributesCount(0)
			distinct(ss.Scope().Attributes(), 0)
			for _, s := range ss.Spans().All() {
				s.SetTraceID(pcommon.TraceID{1, 15: byte(1 + r.IntN(3))})
				s.SetSpanID(pcommon.SpanID{6: byte(r.IntN(256)), 7: 1})
				s.SetName("a" + s.Name())
				s.SetKind(ptrace.SpanKind(r.IntN(6)))
				s.SetStartTimestamp(pcommon.Timestamp(1_700_000_000_000_000_000 + r.Int64N(1000)))
				s.SetEndTimestamp(s.StartTimestamp() + pcommon.Timestamp(r.IntN(1000)))
				s.SetDroppedEventsCount(uint32(r.IntN(2)))
				if s.Status().Code() != ptrace.StatusCodeError {
					s.Status().SetMessage("")
				}
				distinct(s.Attributes(), 0)
				for _, e := range s.Events().All() {
					e.SetTimestamp(s.StartTimestamp())
					e.SetDroppedAttributesCount(uint32(r.IntN(2)))
					distinct(e.Attributes(), 0)
				}
				for _, l := range s.Links().All() {
					l.SetTraceID(pcommon.TraceID{2})
					l.SetSpanID(pcommon.SpanID{3})
					l.SetDroppedAttributesCount(uint32(r.IntN(2)))
					distinct(l.Attributes(), 0)
				}
			}
		}
	}
	return td
}

// distinct removes repeated attributes and deeply nested values.
func distinct(m pcommon.Map, depth int) {
	seen := map[string]bool{"op": true} // writers also state the name
	m.RemoveIf(func(key string, v pcommon.Value) bool {
		if strings.HasPrefix(key, "tensor.input.") && strings.HasSuffix(key, ".shape") {
			return true // writers also state all shapes in one attribute
		}
		shallow(v, depth)
		switch key {
		case "tensor.rank":
			v.SetInt(7)
		case "pytorch.device.type":
			key = "tensor.device.id"
		}
		before := seen[key]
		seen[key] = true
		return before
	})
}

// shallow removes values nested deeper than all formats keep.
func shallow(v pcommon.Value, depth int) {
	switch {
	case v.Type() != pcommon.ValueTypeMap && v.Type() != pcommon.ValueTypeSlice:
	case depth > 3:
		v.SetBool(true)
	case v.Type() == pcommon.ValueTypeMap:
		distinct(v.Map(), depth+1)
	default:
		for _, e := range v.Slice().All() {
			shallow(e, depth+1)
		}
	}
}

// describeTraces returns a text per span, with its resource and scope, sorted. It omits the size of an output, because
// writers derive it from the shape.
func describeTraces(t *testing.T, td ptrace.Traces) (texts []string) {
	t.Helper()
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				one := ptrace.NewTraces()
				r := one.ResourceSpans().AppendEmpty()
				rs.Resource().CopyTo(r.Resource())
				scope := r.ScopeSpans().AppendEmpty()
				ss.Scope().CopyTo(scope.Scope())
				own := scope.Spans().AppendEmpty()
				s.CopyTo(own)
				own.Attributes().Remove("tensor.memory.size")
				own.Attributes().Remove("optrace.warnings")
				for _, m := range []pcommon.Map{r.Resource().Attributes(), scope.Scope().Attributes(),
					own.Attributes()} {
					sortMap(m)
				}
				for _, l := range own.Links().All() {
					sortMap(l.Attributes())
				}
				texts = append(texts, string(check.Must((&ptrace.JSONMarshaler{}).MarshalTraces(one))(t)))
			}
		}
	}
	slices.Sort(texts)
	return texts
}

func sortMap(m pcommon.Map) {
	sorted := pcommon.NewMap()
	for _, k := range slices.Sorted(maps.Keys(maps.Collect(m.All()))) {
		v, _ := m.Get(k)
		v.CopyTo(sorted.PutEmpty(k))
	}
	sorted.CopyTo(m)
}

func readTraces(t *testing.T, text []byte) ptrace.Traces {
	t.Helper()
	all := ptrace.NewTraces()
	for line := range bytes.Lines(text) {
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
		if err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
		td.ResourceSpans().MoveAndAppendTo(all.ResourceSpans())
	}
	return all
}

// Spans survive conversions to entries, Parquet and OTLP unchanged.
func TestConversionsKeepSpans(t *testing.T) {
	for seed := range cases.Some(t, 25, 500) {
		td := randomTraces(t, rand.New(rand.NewPCG(uint64(seed), 5)))
		text := check.Must((&ptrace.JSONMarshaler{}).MarshalTraces(td))(t)
		if seed%2 == 1 {
			text = check.Must((&ptrace.ProtoMarshaler{}).MarshalTraces(td))(t)
		}
		input := tempInput(t, "in", string(text))
		want := describeTraces(t, td)
		for _, way := range []string{"otlp", "entries", "parquet", "entries parquet entries", "otlp entries"} {
			file := input
			for format := range strings.FieldsSeq(way) {
				_, file = converted(t, format, file)
			}
			back, _ := converted(t, "otlp", file)
			if diff := cmp.Diff(want, describeTraces(t, readTraces(t, back))); diff != "" {
				t.Fatalf("seed %d by %s (-want +got):\n%s", seed, way, diff)
			}
		}
	}
}

// agrees fails if two JSON documents differ beyond the counts of the input and the attributes of listed entries.
func agrees(t *testing.T, what, want, got string) {
	t.Helper()
	var a, b map[string]any
	check.OK(t, json.Unmarshal([]byte(want), &a))
	check.OK(t, json.Unmarshal([]byte(got), &b))
	own := cmpopts.IgnoreMapEntries(func(key string, _ any) bool { return key == "input" || key == "attrs" })
	if diff := cmp.Diff(a, b, own); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// A conversion keeps calls of the host: waits, launches and ranges.
func TestConversionsKeepCalls(t *testing.T) {
	for _, file := range filesBelow(t, "../../ingest/kineto/testdata", ".json") {
		if base := filepath.Base(file); base == "truth.json" || base == "plain.json" {
			continue
		}
		_, entries := converted(t, "entries", file)
		for _, line := range []string{"report -json -section all", "whatif -json"} {
			args := strings.Fields(line)
			agrees(t, file+": "+line, succeeds(t, append(args, file)...), succeeds(t, append(args, entries)...))
		}
	}
}

// allSamples explains why tests over all samples are skipped under the race detector.
const allSamples = "all samples: minutes under the race detector, which goes through readers and analyses in their " +
	"own tests"

// filesBelow returns the files below a folder with part in their paths, nil for a missing folder.
func filesBelow(t *testing.T, folder, part string) (files []string) {
	t.Helper()
	check.OK(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path == folder:
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "fuzz" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") &&
			len(d.Name()) > 2):
			return fs.SkipDir
		case d.Type().IsRegular() && strings.Contains(path, part):
			files = append(files, path)
		}
		return nil
	}))
	return files
}

// samples returns the files read by tests, and recorded traces if present.
func samples(t *testing.T) []string {
	t.Helper()
	return slices.Collect(cases.Of(t, 20, append(filesBelow(t, "../..", "/testdata/"), filesBelow(t, recorded, "")...)))
}

func profileOf(t *testing.T, inputs ...string) *profile.Profile {
	t.Helper()
	text, _ := converted(t, "pprof", inputs...)
	p := check.Must(profile.ParseData(text))(t)
	check.OK(t, p.CheckValid())
	return p
}

type figures struct{ Count, SelfNS, Bytes, FLOPs int64 }

type reported struct {
	Operation   string
	Side        string
	Count       int64
	SumNS       int64 `json:"sum_ns"`
	SelfNS      int64 `json:"self_ns"`
	MemoryBytes int64 `json:"memory_bytes"`
	FLOPs       int64
	Derived     int64 `json:"flops_derived"`
}

// operationsOf returns the operations in a report on a file, without the host's view.
func operationsOf(t *testing.T, file string) map[string]reported {
	t.Helper()
	var report struct{ Operations []reported }
	check.OK(t, json.Unmarshal([]byte(succeeds(t, "report", "-json", file)), &report))
	rows := make(map[string]reported)
	for _, o := range report.Operations {
		if o.Side != op.SideHost.String() {
			rows[stacks.Name(o.Operation)] = o
		}
	}
	return rows
}

// In each sample of each format, every operation has the same nanoseconds, bytes and FLOPs in the report, in the
// profile and in collapsed stacks.
func TestProfilesHaveTheFiguresOfTheReport(t *testing.T) {
	cases.NotUnderRace(t, allSamples)
	compared := 0
	derived := 0
	for _, file := range samples(t) {
		if code, _, _ := ran(t, "report", file); code != exit.OK {
			continue // no input
		}
		t.Run(file, func(t *testing.T) {
			flat := make(map[string]figures)
			want := make(map[string]figures)
			self := make(map[string]int64)
			for _, s := range profileOf(t, file).Sample {
				leaf := s.Location[0].Line[0].Function.Name
				f := flat[leaf]
				flat[leaf] = figures{f.Count + s.Value[0], f.SelfNS + s.Value[2], f.Bytes + s.Value[3],
					f.FLOPs + s.Value[4]}
			}
			text, _ := converted(t, "collapsed", file)
			for line := range strings.Lines(string(text)) {
				end := strings.LastIndexByte(line, ' ')
				leaf := line[strings.LastIndexByte(line[:end], ';')+1 : end]
				self[leaf] += check.Must(strconv.ParseInt(strings.TrimSpace(line[end:]), 10, 64))(t)
			}
			for name, o := range operationsOf(t, file) {
				compared++
				if o.Derived > 0 {
					derived++
				}
				want[name] = figures{o.Count, o.SelfNS, o.MemoryBytes, o.FLOPs}
				check.Equal(t, fmt.Sprintf("%q: self time in collapsed stacks", name), o.SelfNS,
					self[stacks.Collapse(o.Operation)])
			}
			check.Equal(t, "pprof against report", want, flat)
		})
	}
	if compared == 0 || cases.All() && (compared < 100 || derived < 10) {
		t.Errorf("%d operations were compared, FLOPs that follow from shapes of %d", compared, derived)
	}
}

// flame is the flame graph computed by the page's own code.
type flame struct {
	Stacks   map[string][5]int64
	HostOnly bool
	Rows     int
}

// flames runs the code of pages in Node.js.
func flames(t *testing.T, pages []string) []flame {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node on the PATH: .ci/browser installs it")
	}
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(t.Context(), node, append([]string{"testdata/flame.mjs"}, pages...)...)
	cmd.Stdout = &out
	cmd.Stderr = &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &problems)
	}
	var all []flame
	for dec := json.NewDecoder(&out); ; {
		var f flame
		err := dec.Decode(&f)
		if err == io.EOF {
			return all
		}
		check.OK(t, err)
		all = append(all, f)
	}
}

// named returns stacks by their names in profiles.
func named(all map[string][5]int64) map[string][5]int64 {
	sums := make(map[string][5]int64)
	for path, values := range all {
		var names []string
		for name := range strings.SplitSeq(path, "|") {
			names = append(names, stacks.Name(name))
		}
		key := strings.Join(names, "|")
		sum := sums[key]
		for i := range sum {
			sum[i] += values[i]
		}
		sums[key] = sum
	}
	return sums
}

// byStack returns the values of a profile by stack, the leaf first.
func byStack(p *profile.Profile) map[string][5]int64 {
	sums := make(map[string][5]int64)
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			names = append(names, l.Line[0].Function.Name)
		}
		key := strings.Join(names, "|")
		sum := sums[key]
		for i := range sum {
			sum[i] += s.Value[i]
		}
		if sum != [5]int64{} {
			sums[key] = sum
		}
	}
	return sums
}

// The page's flame graph of a whole run has the stacks of pprof and of collapsed stacks: count, time, self time, bytes
// and FLOPs of each.
func TestFlameGraphIsTheStackTable(t *testing.T) {
	cases.NotUnderRace(t, allSamples)
	var pages, files []string
	dir := t.TempDir()
	for i, file := range samples(t) {
		page := filepath.Join(dir, strconv.Itoa(i)+".html")
		if code, _, _ := ran(t, "report", "-html", page, file); code != exit.OK {
			continue // no input
		}
		pages = append(pages, page)
		files = append(files, file)
	}
	compared := 0
	for i, f := range flames(t, pages) {
		forest, _, err := analyze.ReadForest(t.Context(), ingest.Open(files[i]), 1)
		check.OK(t, err)
		timed := true
		for n := range forest.Nodes() {
			timed = timed && (n.Start().Known || n.IsDuplicate())
		}
		if f.HostOnly || !timed {
			continue // the page shows the host's view there, and only records with times
		}
		compared++
		p := profileOf(t, files[i])
		check.Equal(t, fmt.Sprintf("%s: flame graph against pprof", files[i]), byStack(p), named(f.Stacks))
		self := make(map[string]int64)
		for path, values := range f.Stacks {
			names := strings.Split(path, "|")
			slices.Reverse(names)
			self[stacks.Collapse(names...)] += values[2]
		}
		var want bytes.Buffer
		check.OK(t, stacks.WriteCollapsed(&want, self))
		_, file := converted(t, "collapsed", files[i])
		got := check.Must(os.ReadFile(file))(t)
		check.Equal(t, fmt.Sprintf("%s: flame graph against collapsed", files[i]), string(got), want.String())
	}
	if compared == 0 || cases.All() && compared < 20 {
		t.Errorf("%d of %d pages were compared", compared, len(pages))
	}
	t.Logf("%d of %d pages were compared", compared, len(pages))
}
