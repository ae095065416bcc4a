package analyze

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// TestDocumentedFigures reads docs/analyses.md: each table of operations is an
// input, and a table of figures behind it is what the report says about it, by
// the keys or on the clock that its first heading may name.
func TestDocumentedFigures(t *testing.T) {
	text := check.Must(os.ReadFile("../docs/analyses.md"))(t)
	var input markdownTable
	figures := 0
	for _, table := range markdownTables(string(text)) {
		heading, align := strings.CutSuffix(table.header[0], " `-align-clocks`")
		head, by, _ := strings.Cut(heading, " `-by ")
		switch head {
		case "operation":
			input = table
		case "figure":
			report := documentedReport(t, input, cmp.Or(strings.Trim(by, "`"), "operation,shape"), align)
			for _, row := range table.rows {
				figures++
				checkFigure(t, report, strings.Trim(row[0], "`"), row[1])
			}
		case "text": // what the first screen says, see TestFirstScreenIsDefined in render/text
		default:
			t.Errorf("line %d: a table of neither operations nor figures", table.line)
		}
	}
	if figures < 100 {
		t.Errorf("only %d figures were found", figures)
	}
}

// markdownTable is a table with its cells trimmed.
type markdownTable struct {
	line   int
	header []string
	rows   [][]string
}

func markdownTables(text string) []markdownTable {
	var tables []markdownTable
	inside := false
	for i, line := range strings.Split(text, "\n") {
		cells, ok := tableCells(line)
		switch {
		case !ok:
		case !inside:
			tables = append(tables, markdownTable{line: i + 1, header: cells})
		case strings.HasPrefix(cells[0], "---"):
		default:
			last := &tables[len(tables)-1]
			last.rows = append(last.rows, cells)
		}
		inside = ok
	}
	return tables
}

// tableCells splits a line of a table at its pipes; \| is no pipe.
func tableCells(line string) (cells []string, ok bool) {
	inner, ok := strings.CutPrefix(line, "|")
	if !ok {
		return nil, false
	}
	inner = strings.ReplaceAll(strings.TrimSuffix(inner, "|"), `\|`, "\x00")
	for cell := range strings.SplitSeq(inner, "|") {
		cells = append(cells, strings.TrimSpace(strings.ReplaceAll(cell, "\x00", `\|`)))
	}
	return cells, true
}

// documentedReport returns the JSON report on the operations of a table, by the
// keys, with times on one clock or as they are.
func documentedReport(t *testing.T, table markdownTable, by string, align bool) any {
	t.Helper()
	records := table.records(t)
	rep := sampleReport(records, by, true)
	if align {
		rep = collected(rand.New(rand.NewPCG(1, 1)), records, Options{AlignClocks: true}, 1)
	}
	var report any
	check.OK(t, json.Unmarshal(reportJSON(t, rep), &report))
	return report
}

// records returns the operations and spans of a table.
func (m markdownTable) records(t *testing.T) (records []op.Record) {
	t.Helper()
	for i, cells := range m.rows {
		row := documentedRow{t: t, line: m.line + 2 + i, cells: make(map[string]string)}
		for c, name := range m.header {
			row.cells[name] = cells[c]
		}
		records = append(records, row.record())
	}
	return records
}

// documentedRow is a row of a table of operations.
type documentedRow struct {
	t     *testing.T
	line  int
	cells map[string]string
}

func (r documentedRow) integer(name string) op.Int {
	r.t.Helper()
	if r.cells[name] == "" {
		return op.Int{}
	}
	n, err := strconv.ParseInt(r.cells[name], 10, 64)
	if err != nil {
		r.t.Fatalf("line %d: %s: %v", r.line, name, err)
	}
	return op.Known(n)
}

// links returns the links of a row: "1/2 3/4*5" leads to span 2 of trace 1 and, with
// a weight of 5, to span 4 of trace 3.
func (r documentedRow) links() []op.Link {
	r.t.Helper()
	var links []op.Link
	for text := range strings.FieldsSeq(r.cells["links"]) {
		var of byte
		var span uint64
		var weight int64
		n, err := fmt.Sscanf(text, "%d/%d*%d", &of, &span, &weight)
		if n < 2 {
			r.t.Fatalf("line %d: link %q: %v", r.line, text, err)
		}
		link := op.Link{TraceID: op.TraceID{15: of}, SpanID: trace.SpanID(span)}
		if n == 3 {
			link.Weight = op.Known(weight)
		}
		links = append(links, link)
	}
	return links
}

// record returns the operation or, for the kind "span", the span of the row.
func (r documentedRow) record() op.Record {
	r.t.Helper()
	start := r.integer("start")
	duration := r.integer("end").V - start.V
	id, parent := trace.SpanID(uint64(r.integer("id").V)), trace.SpanID(uint64(r.integer("parent").V))
	trace := op.TraceID{}
	if number := r.integer("trace"); !id.IsZero() {
		trace = op.TraceID{15: 1}
		if number.Known {
			trace = op.TraceID{15: byte(number.V)}
		}
	}
	var extra *op.Extra
	if n := r.integer("dropped links"); n.Known {
		extra = &op.Extra{DroppedLinks: n.V}
	}
	if r.cells["kind"] == "span" {
		return op.Record{Span: &op.Span{
			Name: r.cells["operation"], TraceID: trace, SpanID: id, ParentSpanID: parent, Start: start, Duration: duration,
			Service: r.cells["service"], Links: r.links(), Extra: extra,
		}}
	}
	e := &op.Entry{
		Operation: r.cells["operation"], DeviceID: r.cells["device"], Rank: r.integer("rank"),
		Stream: r.integer("stream"), Step: r.integer("step"), Service: r.cells["service"], Root: r.cells["root"],
		Start: start, Duration: duration, Launch: r.integer("launch"), MemoryBytes: r.integer("bytes"),
		DType: op.DType(r.cells["dtype"]), Failed: r.cells["error"] != "", Error: r.cells["error"],
		TraceID: trace, SpanID: id, ParentSpanID: parent, AdjustedCount: float64(r.integer("weight").V),
		StepName: r.cells["step_name"], Phase: r.cells["phase"],
		Links: r.links(), Extra: extra,
	}
	if call := r.cells["call"]; call != "" {
		e.Attrs = []op.Attr{{Key: attrkey.LaunchDuration, Value: call, Type: op.AttrInt}}
	}
	if r.cells["sequence"] != "" {
		e.Collective = &op.Collective{Name: e.Operation, Group: r.cells["group"], Sequence: r.integer("sequence")}
	}
	if r.cells["side"] == "host" {
		e.Side = op.SideHost
	}
	if shape := r.cells["shape"]; shape != "" {
		var ok bool
		if e.OutputShape, ok = attrmap.ParseShape(shape); !ok {
			r.t.Fatalf("line %d: shape %q", r.line, shape)
		}
	}
	e.FLOPs = r.integer("flops")
	for text := range strings.FieldsSeq(r.cells["inputs"]) {
		shape, ok := attrmap.ParseShape(text)
		if !ok {
			r.t.Fatalf("line %d: shape %q", r.line, text)
		}
		e.InputShapes = append(e.InputShapes, shape)
	}
	if inferred, ok := strings.CutPrefix(r.cells["kind"], "("); ok {
		e.Kind, e.KindRule = op.InferKind(e.Operation)
		if e.Kind.String()+")" != inferred {
			r.t.Errorf("line %d: %s is inferred as %v", r.line, e.Operation, e.Kind)
		}
	} else if e.Kind, ok = op.ParseKind(r.cells["kind"]); !ok {
		r.t.Fatalf("line %d: kind %q", r.line, r.cells["kind"])
	}
	return op.Record{Entry: e}
}

// checkFigure compares the value at a path of the report with what the
// document says: JSON, or the number of rows.
func checkFigure(t *testing.T, report any, path, documented string) {
	t.Helper()
	got, err := atPath(report, path)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	var want any
	if n, ok := strings.CutSuffix(documented, " rows"); ok {
		rows, _ := got.([]any)
		got, want = any(strconv.Itoa(len(rows))), any(n)
	} else if err := json.Unmarshal([]byte(documented), &want); err != nil {
		t.Errorf("%s: %q: %v", path, documented, err)
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: the report has %v, the document %v", path, got, want)
	}
}

var pathSegment = regexp.MustCompile(`^\.?(\w+)|^\[(\d+)\]`)

// atPath returns the value at a path such as devices[0].rank.
func atPath(v any, path string) (any, error) {
	for path != "" {
		m := pathSegment.FindStringSubmatch(path)
		switch {
		case m == nil:
			return nil, fmt.Errorf("no path: %q", path)
		case m[1] != "":
			object, _ := v.(map[string]any)
			member, ok := object[m[1]]
			if !ok {
				return nil, fmt.Errorf("there is no %s", m[1])
			}
			v = member
		default:
			list, _ := v.([]any)
			i, err := strconv.Atoi(m[2])
			if err != nil || i >= len(list) {
				return nil, fmt.Errorf("there is no %s", m[0])
			}
			v = list[i]
		}
		path = path[len(m[0]):]
	}
	return v, nil
}
