package analyze

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// TestDocumentedFigures computes the examples of docs/analyses.md and testdata/figures.md. A table of operations is an
// input. The tables of figures behind it have values of its report; their first heading may name keys or a clock.
// Blocks have its requests or collapsed stacks.
func TestDocumentedFigures(t *testing.T) {
	var input []op.Record
	figures := 0
	blocks := 0
	for _, b := range append(documentParts(t, "../docs/analyses.md"), documentParts(t, "testdata/figures.md")...) {
		heading, align := strings.CutSuffix(b.header[0], " `-align-clocks`")
		head, by, _ := strings.Cut(heading, " `-by ")
		switch write := blockWriters[head]; {
		case write != nil:
			blocks++
			var got strings.Builder
			write(t, input, &got)
			check.Equal(t, fmt.Sprintf("%s:%d: %s", b.file, b.line, head), b.text, got.String())
		case head == "operation":
			input = b.records(t)
		case head == "figure":
			report := documentedReport(t, input, cmp.Or(strings.Trim(by, "`"), "operation,shape"), align)
			for _, row := range b.rows {
				figures += checkFigures(t, report, row[0], row[1])
			}
		case b.rows != nil && head != "text": // what the first screen says, see TestFirstScreenIsDefined in render/text
			t.Errorf("%s:%d: a table of neither operations nor figures", b.file, b.line)
		}
	}
	if figures < 500 {
		t.Errorf("only %d figures were found", figures)
	}
	check.Equal(t, "blocks", len(blockWriters)+2, blocks)
}

// documentPart is a table with trimmed cells, or a fenced block, whose header is its language.
type documentPart struct {
	file   string
	line   int
	header []string
	rows   [][]string
	text   string
}

func documentParts(t *testing.T, file string) (all []documentPart) {
	t.Helper()
	fenced := false
	inTable := false
	for i, line := range strings.Split(string(check.Must(os.ReadFile(file))(t)), "\n") {
		language, isFence := strings.CutPrefix(line, "```")
		cells := tableCells(line)
		switch {
		case isFence && !fenced:
			all = append(all, documentPart{file: file, line: i + 1, header: []string{language}})
		case isFence:
		case fenced:
			all[len(all)-1].text += line + "\n"
		case cells != nil && !inTable:
			all = append(all, documentPart{file: file, line: i + 1, header: cells})
		case cells != nil && !strings.HasPrefix(cells[0], "---"):
			last := &all[len(all)-1]
			last.rows = append(last.rows, cells)
		}
		fenced = fenced != isFence
		inTable = cells != nil
	}
	return all
}

// tableCells splits a line of a table at its pipes; \| is no pipe.
func tableCells(line string) (cells []string) {
	inner, ok := strings.CutPrefix(line, "|")
	if !ok {
		return nil
	}
	inner = strings.ReplaceAll(strings.TrimSuffix(inner, "|"), `\|`, "\x00")
	for cell := range strings.SplitSeq(inner, "|") {
		cells = append(cells, strings.TrimSpace(strings.ReplaceAll(cell, "\x00", `\|`)))
	}
	return cells
}

// documentedReport returns the values of the JSON report on operations by their paths, by the
// keys, with times on one clock or as they are.
func documentedReport(t *testing.T, records []op.Record, by string, align bool) map[string]any {
	t.Helper()
	rep := sampleReport(records, by, true)
	if align {
		rep = collected(rand.New(rand.NewPCG(1, 1)), records, Options{AlignClocks: true}, 1)
	}
	var report any
	check.OK(t, json.Unmarshal(reportJSON(t, rep), &report))
	values := make(map[string]any)
	var add func(path string, v any)
	add = func(path string, v any) {
		values[strings.TrimPrefix(path, ".")] = v
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				add(path+"."+name, member)
			}
		case []any:
			for i, row := range v {
				add(fmt.Sprintf("%s[%d]", path, i), row)
			}
		}
	}
	add("", report)
	return values
}

// cellJSON is what the cells of a column are in the JSON of an entry or a span.
var cellJSON = map[string]string{
	"device": `"device_id":%q`, "side": `"side":%q`, "dtype": `"dtype":%q`, "error": `"error":%q`, "root": `"root":%q`,
	"service": `"service":%q`, "step_name": `"step_name":%q`, "phase": `"phase":%q`,
	"start": `"start_unix_ns":%s`, "launch": `"launch_unix_ns":%s`, "rank": `"rank":%s`, "stream": `"stream":%s`, "step": `"step":%s`,
	"bytes": `"memory_bytes":%s`, "flops": `"flops":%s`, "weight": `"adjusted_count":%s`,
	"dropped links": `"extra":{"dropped_links":%s}`, "call": `"attrs":{"` + attrkey.LaunchDuration + `":%s}`,
}

// records returns the operations and, for the kind "span", the spans of a table, read from their JSON. "1/2 3/4*5" are links
// to span 2 of trace 1 and, with a weight of 5, to span 4 of trace 3.
func (b *documentPart) records(t *testing.T) (records []op.Record) {
	t.Helper()
	for i, row := range b.rows {
		at := fmt.Sprintf("%s:%d", b.file, b.line+2+i)
		cells := make(map[string]string)
		var members []string
		add := func(format string, values ...any) { members = append(members, fmt.Sprintf(format, values...)) }
		for c, name := range b.header {
			cells[name] = row[c]
			if format := cellJSON[name]; format != "" && row[c] != "" {
				add(format, row[c])
			}
		}
		integer := func(name string) int64 {
			return check.Must(strconv.ParseInt(cmp.Or(cells[name], "0"), 10, 64))(t)
		}
		if id := integer("id"); id != 0 {
			add(`"trace_id":"%032x","span_id":"%016x"`, cmp.Or(integer("trace"), 1), id)
		}
		if parent := integer("parent"); parent != 0 {
			add(`"parent_span_id":"%016x"`, parent)
		}
		var links []string
		for text := range strings.FieldsSeq(cells["links"]) {
			to, weight, _ := strings.Cut(text, "*")
			var trace, span int
			check.Must(fmt.Sscanf(to, "%d/%d", &trace, &span))(t)
			links = append(links, fmt.Sprintf(`{"trace_id":"%032x","span_id":"%016x","weight":%s}`, trace, span,
				cmp.Or(weight, "null")))
		}
		add(`"links":[%s],"duration_ns":%d`, strings.Join(links, ","), integer("end")-integer("start"))
		if cells["sequence"] != "" {
			add(`"collective":{"name":%q,"group":%q,"sequence":%s}`, cells["operation"], cells["group"], cells["sequence"])
		}
		if shape := cells["shape"]; shape != "" {
			add(`"output_shape":[%s]`, strings.ReplaceAll(shape, "x", ","))
		}
		if inputs := cells["inputs"]; inputs != "" {
			add(`"input_shapes":[[%s]]`, strings.NewReplacer("x", ",", " ", "],[").Replace(inputs))
		}
		kind, inferred := strings.CutPrefix(cells["kind"], "(")
		format := `{"operation":%q,%s}`
		if kind == "span" {
			format = `{"span":{"name":%q,%s}}`
		} else if !inferred {
			add(`"kind":%q`, kind)
		}
		line := fmt.Sprintf(format, cells["operation"], strings.Join(members, ","))
		for rec, err := range entries.NewReader(strings.NewReader(line), at).Records() {
			check.OK(t, err)
			if e := rec.Entry; e != nil && (e.Warn != 0 || inferred && e.Kind.String()+")" != kind) {
				t.Errorf("%s: the kind is %v, warnings %v", at, e.Kind, e.Warn)
			}
			records = append(records, recordtest.Clone(rec))
		}
	}
	return records
}

// checkFigures compares the values of a row and returns their number. A row may have several paths, separated by
// commas. A path with a leading point has the parent of the first path.
func checkFigures(t *testing.T, report map[string]any, paths, values string) int {
	t.Helper()
	all := strings.Split(paths, ", ")
	documented := strings.Split(values, ", ")
	if len(all) != len(documented) {
		t.Errorf("%s: %d paths and %d values", paths, len(all), len(documented))
		return 0
	}
	first := strings.Trim(all[0], "`")
	for i, path := range all {
		path = strings.Trim(path, "`")
		if strings.HasPrefix(path, ".") {
			path = first[:strings.LastIndex(first, ".")] + path
		}
		checkFigure(t, report, path, documented[i])
	}
	return len(all)
}

// checkFigure compares the value at a path of the report with the documented one: JSON, or the number of rows.
func checkFigure(t *testing.T, report map[string]any, path, documented string) {
	t.Helper()
	got, known := report[path]
	var want any
	if n, ok := strings.CutSuffix(documented, " rows"); ok {
		rows, _ := got.([]any)
		got, want = any(strconv.Itoa(len(rows))), any(n)
	} else if err := json.Unmarshal([]byte(documented), &want); err != nil {
		t.Errorf("%s: %q: %v", path, documented, err)
		return
	}
	if !known || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: the report has %v, the document %v", path, got, want)
	}
}

// blockWriters write the expected text of a block in docs/analyses.md.
var blockWriters = map[string]func(*testing.T, []op.Record, io.Writer){
	"requests": documentedRequests,
	"shared":   documentedShared,
	"collapsed": func(t *testing.T, records []op.Record, w io.Writer) {
		check.OK(t, stacks.WriteForest(forestOf(records), w))
	},
	"collapsed-flat": func(t *testing.T, records []op.Record, w io.Writer) {
		var flat seed.Stacks
		for _, rec := range records {
			if rec.Entry != nil {
				flat.Add(rec.Entry)
			}
		}
		check.OK(t, flat.Write(w))
	},
}

func forestOf(records []op.Record) *trace.Forest {
	forest := trace.New()
	for _, rec := range records {
		forest.Add(rec)
	}
	return forest
}

func documentedRequests(_ *testing.T, records []op.Record, w io.Writer) {
	all := requests.Find(forestOf(records))
	for i := range all.List {
		r := &all.List[i]
		fmt.Fprintf(w, "%s: start %v, duration %v, ops %d, uncovered %v, queueing %v\n",
			r.Name, r.StartNS, r.DurationNS, r.Ops(), r.UncoveredNS, r.QueueingNS)
	}
	fmt.Fprintf(w, "unattached: %d\n", len(slices.Collect(all.Unattached())))
}

func documentedShared(_ *testing.T, records []op.Record, w io.Writer) {
	forest := forestOf(records)
	all := requests.Find(forest)
	for i := range all.List {
		r := &all.List[i]
		fmt.Fprintf(w, "%s: own %d, shared %d in %d ops, uncovered %v, queueing %v\n",
			r.Name, r.OwnNS, r.SharedNS, r.SharedOps, r.UncoveredNS, r.QueueingNS)
		for _, s := range path.Of(forest, r.Root).Segments {
			fmt.Fprintf(w, "  %s [%d,%d)\n", s.Node.Name(), s.StartNS, s.StartNS+s.DurationNS)
		}
	}
	for i := range all.Shared {
		e := &all.Shared[i]
		fmt.Fprintf(w, "%s: %d links, %d requests, %d ops, sum %d", e.Name, e.Links, e.Requests, e.Ops(), e.SumNS)
		if e.DroppedLinks > 0 {
			fmt.Fprintf(w, ", unlinked %d", e.UnlinkedNS)
		}
		fmt.Fprintln(w)
	}
}
