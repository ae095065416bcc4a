package analyze

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

type inputFile struct {
	name, text string
	partial    bool
}

// inputFiles is a Source of files, each one part.
type inputFiles []inputFile

func filesOf(text string, n int) inputFiles {
	return slices.Repeat(inputFiles{{name: "ops", text: text}}, n)
}

func (s inputFiles) Read(workers int, read func(int, int64, int64, iter.Seq2[op.Record, error]) error) error {
	errs := make([]error, workers)
	var running sync.WaitGroup
	for worker := range workers {
		running.Go(func() {
			for i := worker; i < len(s); i += workers {
				f := s[i]
				records := entries.NewReader(strings.NewReader(f.text), f.name).Records()
				if f.partial {
					records = recordtest.All(op.Record{Partial: &op.Partial{File: f.name, Text: []byte(f.text)}})
				}
				errs[worker] = errors.Join(errs[worker], read(worker, int64(i), int64(i), records))
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

func (s inputFiles) Files() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for _, f := range s {
			format := "entries-jsonl"
			if f.partial {
				format = "optrace-profile"
			}
			if !yield(format, int64(len(f.text))) {
				return
			}
		}
	}
}

// randomFile returns a file of random records, some of them unreadable.
func randomFile(r *rand.Rand, name string, weighted bool) inputFile {
	var text []byte
	entries := tracetest.RandomEntries(r, r.IntN(80))
	for i := range entries {
		e := &entries[i]
		switch r.IntN(8) {
		case 0:
			e.Operation += fmt.Sprint(r.IntN(60))
		case 1:
			e.Service = "trainer-" + fmt.Sprint(r.IntN(2))
			e.Rank = op.Int{}
		case 2:
			e.TraceID = opfile.LocalTraceID(uint64(r.IntN(3)))
		case 3:
			e.Stream = op.Known(r.Int64N(2))
			e.EmptyDevice = e.DeviceID == ""
		}
		if weighted || r.IntN(50) == 0 {
			e.AdjustedCount = 1 / (1 - r.Float64())
		}
		text = append(e.AppendJSON(text), '\n')
		switch r.IntN(30) {
		case 0:
			text = append(text, "{\"operation\":\n"...)
		case 1:
			text = append((&op.Gap{Dropped: r.Int64N(5),
				Reason: fmt.Sprint("reason ", r.IntN(80))}).AppendJSON(text), '\n')
		case 2:
			b := op.Batch{Writer: fmt.Sprint("w", r.IntN(3)), Sequence: r.Int64N(50), Entries: r.Int64N(80)}
			text = append(b.AppendJSON(text), '\n')
		case 3:
			text = append((&op.Span{Name: "request", Duration: 5}).AppendJSON(text), '\n')
		case 4:
			text = append(text, "{\"later\":1}\n"...)
		case 5: // the record once more
			text = append(e.AppendJSON(text), '\n')
		}
	}
	return inputFile{name: name, text: string(text)}
}

func partialOf(t testing.TB, src Source, opts Options) string {
	t.Helper()
	p := check.Must(ReadPartial(context.Background(), src, opts))(t)
	var text bytes.Buffer
	check.OK(t, p.Write(&text))
	return text.String()
}

func reportOf(t *testing.T, src Source, opts Options) string {
	t.Helper()
	return string(reportJSON(t, check.Must(Run(context.Background(), src, opts))(t)))
}

// Partial results give the report of their original files, for any division into parts.
func TestPartialsAddUp(t *testing.T) {
	cases.Seeds(t, 50, func(seed uint64, r *rand.Rand) {
		opts := randomOptions(r)
		opts.By = slices.DeleteFunc(opts.By, func(k key.Key) bool { return k == key.Root })
		opts.SumsOnly = true
		opts.Workers = 1 + r.IntN(3)
		weighted := r.IntN(3) == 0
		var files, partials inputFiles
		for i := range r.IntN(12) {
			files = append(files, randomFile(r, fmt.Sprintf("%02d.jsonl", i), weighted))
		}
		for rest := files; len(rest) > 0; {
			n := 1 + r.IntN(len(rest))
			part := rest[:n]
			switch r.IntN(4) {
			case 0: // original files
				partials = append(partials, part...)
			case 1: // partial results of partial results
				var inner inputFiles
				for _, f := range part {
					inner = append(inner, inputFile{"inner", partialOf(t, inputFiles{f}, opts), true})
				}
				partials = append(partials, inputFile{"outer", partialOf(t, inner, opts), true})
			case 2: // concatenated files
				text := ""
				for _, f := range part {
					text += partialOf(t, inputFiles{f}, opts)
				}
				partials = append(partials, inputFile{"joined", text, true})
			default:
				partials = append(partials, inputFile{"part", partialOf(t, part, opts), true})
			}
			rest = rest[n:]
		}
		want := reportOf(t, files, opts)
		if diff := cmp.Diff(want, reportOf(t, partials, opts)); diff != "" {
			t.Fatalf("seed %d, by %v: %s", seed, opts.By, diff)
		}
		for _, p := range partials {
			if p.partial && !strings.Contains(p.text[1:], `{"schema"`) {
				if diff := cmp.Diff(p.text, partialOf(t, inputFiles{p}, opts)); diff != "" {
					t.Fatalf("seed %d: read and written again: %s", seed, diff)
				}
			}
		}
	})
}

// samplePartial returns partial results with every kind of line.
func samplePartial(t *testing.T) string {
	r := rand.New(rand.NewPCG(3, 0))
	var files inputFiles
	for i := range 6 {
		files = append(files, randomFile(r, fmt.Sprint(i), true))
	}
	return partialOf(t, files, samplePartialOptions())
}

func samplePartialOptions() Options {
	return Options{
		By: tracetest.Keys("shape,rank,trace,kind"), MaxGroups: 20, HotspotBytes: -1, Peaks: tracetest.TestPeaks(),
		SumsOnly: true,
	}
}

// A damaged file only adds an error with its position.
func TestDamagedPartials(t *testing.T) {
	text := samplePartial(t)
	first, rest, _ := strings.Cut(text, "\n")
	replace := func(from, to string) string {
		if !strings.Contains(text, from) {
			t.Fatalf("there is no %q", from)
		}
		return strings.Replace(text, from, to, 1)
	}
	last := strings.LastIndexByte(strings.TrimSpace(text), '\n') + 1
	operation := strings.Index(text, `{"operation"`)
	line := text[operation : operation+strings.IndexByte(text[operation:], '\n')+1]
	single := regexp.MustCompile(`"count":1,(.*)squares_ns2":\d+`)
	good := inputFile{"good", text, true}
	want := check.Must(Run(t.Context(), inputFiles{good}, samplePartialOptions()))(t)
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "ends within"},
		{"cut at a line", text[:last], "ends within"},
		{"cut within a line", text[:len(text)/2], "unexpected end of JSON"},
		{"another version", replace("profile/v1", "profile/v2"), "not supported"},
		{"no header", rest, `schema "" is not supported`},
		{"options twice", first + "\n" + text, "one member"},
		{"a member that is not known", replace(`"min_ns"`, `"least_ns"`), `unknown field "least_ns"`},
		{"no JSON", replace(`"min_ns"`, `min_ns`), "invalid character"},
		{"something behind a line", replace(line, strings.TrimSpace(line)+" 1\n"), "after top-level value"},
		{"a row twice", replace(line, line+line), "repeated row"},
		{"a line less", replace(line, ""), "lines have"},
		{"a negative count", replace(`"count":`, `"count":-`), "number"},
		{"a large count", replace(`"count":`, `"count":9000000000000000`), "number"},
		{"a fraction", replace(`"count":`, `"count":0.`), "Go struct"},
		{"few squares", regexp.MustCompile(`squares_ns2":\d+`).ReplaceAllString(text, `squares_ns2":0`), "number"},
		{"few squares of one", single.ReplaceAllString(text, `"count":1,${1}squares_ns2":0`), "number"},
		{"a kind", replace(`"kinds":["`, `"kinds":["x`), "kind"},
		{"a side", replace(`"side":"host"`, `"side":"far"`), "text"},
		{"a warning", replace(`"neg_duration"`, `"neg"`), "warning"},
		{"an entry", replace(`{"slowest":{"step":`, `{"slowest":{"operation":7}}`+"\n"+`{"slowest":{"step":`), "bad:"},
		{"no entry", replace(`{"slowest":{`, `{"slowest":{"span":{"name":"a"}}}`+"\n"+`{"slowest":{`), "not an entry"},
		{"a key", replace(`"values":["`, `"values":[7,"`), "values for"},
		{"behind the others", replace(`"beyond":"`, `"beyond":"AAAA`), "inconsistent"},
	} {
		r, err := Run(t.Context(), inputFiles{good, {"bad", test.text, true}}, samplePartialOptions())
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		problem := ""
		for _, p := range r.Input.Problems {
			if strings.HasPrefix(p, "bad:") {
				problem = p
			}
		}
		if !strings.Contains(problem, test.want) || r.Input.Malformed+r.Input.Truncated != want.Input.Malformed+
			want.Input.Truncated+1 {
			t.Errorf("%s: %d malformed, %d truncated, %q", test.name, r.Input.Malformed, r.Input.Truncated, problem)
		}
		r.Input = want.Input
		check.Equal(t, test.name, want, r, tracetest.EqualKeys)
	}
}

// A writer without batch numbers is written as it was read.
func TestPartialWithoutBatches(t *testing.T) {
	file := inputFile{name: "ops", text: `{"batch":{"writer":"w","seq":0,"entries":0}}` + "\n"}
	const some = `{"writer":"w","batches":[[0,0]]}`
	const none = `{"writer":"w","batches":[]}`
	text := strings.Replace(partialOf(t, inputFiles{file}, Options{}), some, none, 1)
	if !strings.Contains(text, none) {
		t.Fatalf("there is no %s in\n%s", some, text)
	}
	check.Equal(t, "read and written", text, partialOf(t, inputFiles{{"none", text, true}}, Options{}))
}

// Partial results with other options are an error unless they contain the wanted sums.
func TestPartialOptions(t *testing.T) {
	by := func(names string) []key.Key {
		return check.Must(key.Parse(names))(t)
	}
	made := Options{By: by("shape,rank")}
	text := partialOf(t, filesOf(runLines, 1), made)
	for _, test := range []struct {
		name string
		opts Options
		want string
	}{
		{"the same", made, ""},
		{"no groups", Options{}, ""},
		{"fewer entries", Options{Top: 3}, ""},
		{"a ratio", Options{MinCommunicationRatio: 0.5}, ""},
		{"other groups", Options{By: by("shape")}, "it has {\"by\":[\"shape\",\"rank\"]"},
		{"groups by the root", Options{By: by("root")}, "needs {\"by\":[\"root\"]"},
		{"more entries", Options{Top: 11}, "\"top\":11"},
		{"fewer rows", Options{MaxGroups: 5}, "\"max_groups\":5"},
		{"smaller hotspots", Options{HotspotBytes: -1}, "\"hotspot_bytes\":0"},
		{"FLOPs", Options{RecordedFLOPs: true}, "flops\":true"},
		{"peaks", Options{Peaks: tracetest.TestPeaks()}, "peaks"},
	} {
		test.opts.SumsOnly = true
		_, err := Run(t.Context(), inputFiles{{"part", text, true}}, test.opts)
		if test.want == "" && err != nil || test.want != "" &&
			(err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		if err == nil {
			want := reportOf(t, filesOf(runLines, 1), test.opts)
			check.Equal(t, test.name, want, reportOf(t, inputFiles{{"part", text, true}}, test.opts))
		}
	}
	if _, err := ReadPartial(t.Context(), inputFiles{}, Options{By: by("root")}); err == nil {
		t.Error("partial results by root")
	}
}

// Partial results disable structural figures, and the report says so.
func TestPartialsHaveNoStructure(t *testing.T) {
	text := partialOf(t, filesOf(runLines, 1), Options{})
	r := check.Must(Run(t.Context(), inputFiles{{name: "ops", text: runLines}, {"part", text, true}}, Options{}))(t)
	if r.LeftOut == "" || r.Sequences != nil || r.Devices[0].SpanNS.Known || r.Input.Orphans.Known ||
		r.Input.Files != 2 {
		t.Errorf("left out %q, %+v", r.LeftOut, r.Input)
	}
}

// An error from Hold ends the reading.
func TestPartialsHoldMemory(t *testing.T) {
	src := &bounded{Source: inputFiles{{"part", samplePartial(t), true}}}
	_, err := Run(t.Context(), src, samplePartialOptions())
	check.Is(t, "error", errFull, err)
}

// Any file gives a valid report and valid partial results, except with other options.
func FuzzPartial(f *testing.F) {
	f.Add([]byte(partialOf(f, inputFiles{randomFile(rand.New(rand.NewPCG(1, 1)), "ops", true)},
		samplePartialOptions())))
	f.Add([]byte(partialOf(f, filesOf(runLines, 1), samplePartialOptions())))
	f.Fuzz(func(t *testing.T, text []byte) {
		files := inputFiles{{"part", string(text), true}, {"part", string(text), true}}
		if _, err := Run(t.Context(), files, samplePartialOptions()); err != nil {
			if !strings.Contains(err.Error(), "made with other options") {
				t.Error(err)
			}
			return
		}
		again := inputFiles{{"again", partialOf(t, files, samplePartialOptions()), true}}
		want := reportOf(t, files, samplePartialOptions())
		check.Equal(t, "", want, reportOf(t, again, samplePartialOptions()))
	})
}
