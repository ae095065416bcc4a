package csv_test

import (
	"bytes"
	stdcsv "encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/fulldisk"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/csv"
)

// parse returns the rows as maps from column to field.
func parse(t *testing.T, text []byte) (rows []map[string]string) {
	t.Helper()
	all := check.Must(stdcsv.NewReader(bytes.NewReader(text)).ReadAll())(t)
	for _, record := range all[1:] {
		row := make(map[string]string)
		for i, field := range record {
			if field != "" {
				row[all[0][i]] = field
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func entries() []*op.Entry {
	return []*op.Entry{
		{
			Step: op.Known(3), Operation: "=cmd|' /C calc'!A0", Kind: op.KindCollective, Path: "a,\"b\"\nc",
			DeviceID: "fpga:0", Stream: op.Known(-1), Rank: op.Known(0),
			InputShapes: []op.Shape{{2, 3}, nil, {}}, InputDTypes: []op.DType{op.F32, op.I64},
			OutputShape: op.Shape{}, DType: op.F32, Start: op.Known(5), Duration: 600,
			OutputElements: op.Known(1), MemoryBytes: op.Known(4), FLOPs: op.Known(6), Failed: true,
			Error: "-oops", TraceID: op.TraceID{1}, SpanID: op.SpanID{2}, ParentSpanID: op.SpanID{3},
			Root: "@root", RootSpanID: op.SpanID{4}, Service: "+svc", Scope: "lib", AdjustedCount: 2.5,
			DroppedAttributes: 1, Collective: &op.Collective{Name: "all_reduce", Group: "tp",
				GroupSize: op.Known(2), Sequence: op.Known(7)}, Warn: op.WarnBadShape | op.WarnNoStart,
		},
		{Operation: "relu", Duration: 1000},
	}
}

func TestEntries(t *testing.T) {
	var b bytes.Buffer
	check.OK(t, csv.WriteEntries(&b, entries(), csv.Options{}))
	golden.Check(t, "testdata/entries.csv", b.Bytes())
}

// Every table of a report has a header and rows of its length, in the order of the report.
func TestReportTables(t *testing.T) {
	keys := check.Must(key.Parse("operation,step,attr:region"))(t)
	records := recordtest.Entries(entries()...)
	r := check.Must(analyze.Run(t.Context(), analyze.Records(records), analyze.Options{By: keys}))(t)
	r.Peaks, r.Total.EstCount = make([]peaks.Device, 1), op.KnownFloat(1) // tables have more columns then
	for _, section := range []string{
		"operations", "groups", "devices", "communication", "balance", "idle", "launches", "critical_path", "sequences",
		"steps", "memory", "slowest",
	} {
		var b bytes.Buffer
		check.OK(t, csv.Write(&b, r, section, csv.Options{}))
		parse(t, b.Bytes())
		golden.Check(t, "testdata/"+section+".csv", b.Bytes())
	}
	check.Says(t, "a section that is not there has a table", "", csv.Write(io.Discard, r, "others", csv.Options{}))
}

func TestWriteError(t *testing.T) {
	check.Says(t, "", "", csv.WriteEntries(&fulldisk.Writer{}, entries(), csv.Options{}))
}

// R4: a terminal gets no control characters.
func TestTerminalGetsNoControlCharacters(t *testing.T) {
	e := &op.Entry{Operation: "\x1b[31mred\x1b]0;x\x07\u009b\u202e", Root: "a\nb"}
	for _, printable := range []bool{false, true} {
		var b bytes.Buffer
		w := check.Must(csv.NewEntryWriter(&b, csv.Options{Printable: printable}))(t)
		check.OK(t, errors.Join(w.Write(e), w.Flush()))
		fields := parse(t, b.Bytes())[0]
		want := []string{e.Operation, e.Root}
		if printable {
			want = []string{`\x1b[31mred\x1b]0;x\a\u009b\u202e`, `a\nb`}
		}
		check.Equal(t, fmt.Sprintf("printable %t", printable), want, []string{fields["operation"], fields["root"]})
	}
}

// For any names, other programs read the written fields, and run no formula.
func FuzzWrite(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		for _, opts := range []csv.Options{{}, {Unguarded: true}} {
			var b bytes.Buffer
			check.OK(t, csv.WriteEntries(&b, []*op.Entry{e}, opts))
			row := parse(t, b.Bytes())[0]
			for column, want := range map[string]string{
				"operation": e.Operation, "path": e.Path, "device_id": e.DeviceID, "service": e.Service,
				"error": e.Error,
			} {
				got := row[column]
				if strings.ContainsAny(got[:min(1, len(got))], "=+-@\t\r") && !opts.Unguarded {
					t.Errorf("%s = %q, which is a formula", column, got)
				}
				// The standard library reads \r\n within a field as \n.
				want = strings.ReplaceAll(want, "\r\n", "\n")
				if got != want && (opts.Unguarded || got != "'"+want) {
					t.Errorf("%s = %q, want %q", column, got, want)
				}
			}
		}
	})
}
