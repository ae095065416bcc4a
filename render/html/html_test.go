package html_test

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/fulldisk"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/html"
)

// reportOn returns the report on records, with its forest.
func reportOn(tb testing.TB, records ...op.Record) *analyze.Report {
	tb.Helper()
	r := check.Must(analyze.Run(tb.Context(), analyze.Records(recordtest.All(records...)),
		analyze.Options{KeepForest: true}))(tb)
	return r
}

func pageOf(tb testing.TB, opts html.Options, records ...op.Record) string {
	tb.Helper()
	var b bytes.Buffer
	check.OK(tb, html.Write(&b, reportOn(tb, records...), opts))
	return b.String()
}

func operation(name string, id byte, start, duration int64) op.Record {
	return op.Record{Entry: &op.Entry{
		Operation: name, Kind: op.KindCompute, DeviceID: "cuda:0", Stream: op.Known(7), Step: op.Known(3),
		TraceID: op.TraceID{1}, SpanID: op.SpanID{id}, ParentSpanID: op.SpanID{1}, Start: op.Known(start),
		Duration: duration, InputShapes: []op.Shape{{64, 784}, {784, 256}}, OutputShape: op.Shape{64, 256},
		DType: op.F32, MemoryBytes: op.Known(65536), FLOPs: op.Known(25_690_112),
	}}
}

func request(start, duration int64) op.Record {
	return op.Record{Span: &op.Span{
		Name: "POST /predict", Service: "api", TraceID: op.TraceID{1}, SpanID: op.SpanID{1}, Start: op.Known(start),
		Duration: duration,
	}}
}

// columns are the columns of a page by name, decoded by this test's own reader.
type columns map[string][]uint64

const columnNames = "start duration self name kind device stream parent request shape memory flops step launch call " +
	"group launcher arguments maker error thread"

// view is the tested part of a page's JSON.
type view struct {
	Rows      int      `json:"rows"`
	SpanNS    int64    `json:"span_ns"`
	Names     []string `json:"names"`
	Shapes    []string `json:"shapes"`
	Steps     []int64  `json:"steps"`
	Arguments []json.RawMessage
	Errors    []string
	Devices   []struct {
		Label   string
		IdleRow int `json:"idle_row"`
	}
	Requests []struct {
		Name       string
		Start, Dur int64
		Ops        int
		Path       []struct {
			Operation, Kind, Device string
			NS                      int64
		}
		Segments [][3]int64
		Link     string
	}
	LaunchDevices []int   `json:"launch_devices"`
	StepStarts    []int64 `json:"step_starts"`
	Latencies     []struct {
		Name         string
		Starts, Durs []int64
	}
	Findings   []json.RawMessage
	Selections []struct{ Section string }
	Report     json.RawMessage
}

var (
	viewText = regexp.MustCompile(`(?s)<script type="application/json" id="view">(.*?)</script>`)
	rowsText = regexp.MustCompile(`(?s)<script type="application/octet-stream" id="rows">(.*?)</script>`)
)

func decode(tb testing.TB, page string) (v view, c columns) {
	tb.Helper()
	check.OK(tb, json.Unmarshal([]byte(viewText.FindStringSubmatch(page)[1]), &v))
	text := check.Must(base64.StdEncoding.DecodeString(rowsText.FindStringSubmatch(page)[1]))(tb)
	src := check.Must(io.ReadAll(flate.NewReader(bytes.NewReader(text))))(tb)
	c = make(columns)
	for column := range strings.FieldsSeq(columnNames) {
		for range v.Rows {
			n, size := binary.Uvarint(src)
			if size <= 0 {
				tb.Fatal("columns end early")
			}
			c[column] = append(c[column], n)
			src = src[size:]
		}
	}
	if len(src) > 0 {
		tb.Fatalf("%d bytes behind the columns", len(src))
	}
	return v, c
}

// Failed rows have the texts of their errors.
func TestErrors(t *testing.T) {
	failed := operation("relu", 3, 1_600, 300)
	failed.Entry.Failed = true
	failed.Entry.Error = "<b>out of memory"
	root := request(1_000, 1_000)
	root.Span.Failed = true
	v, c := decode(t, pageOf(t, html.Options{}, failed, root, operation("matmul", 2, 1_100, 500)))
	check.Equal(t, "errors of rows", []uint64{1, 0, 2}, c["error"])
	check.Equal(t, "errors", []string{"", "<b>out of memory"}, v.Errors)
}

func TestColumns(t *testing.T) {
	page := pageOf(t, html.Options{Link: func(op.TraceID, op.SpanID) string { return "link" }},
		operation("relu", 3, 1_600, 300), // the input is not in order of time
		request(1_000, 1_000), operation("matmul", 2, 1_100, 500),
		op.Record{Entry: &op.Entry{Operation: "untimed", Duration: 5}},
	)
	v, c := decode(t, page)
	shown := v
	shown.Report, shown.Findings, shown.Selections = nil, nil, nil // of their packages
	golden.JSON(t, "testdata/view.json", map[string]any{"view": shown, "columns": c})
	q := v.Requests[0]
	sum := int64(0)
	for _, p := range q.Path {
		sum += p.NS
	}
	if sum != q.Dur || q.Path[0].Operation != "matmul" {
		t.Errorf("critical path %+v adds up to %d", q.Path, sum)
	}
	if !strings.Contains(page, "1 without a start") {
		t.Error("the operation without a start is not mentioned")
	}
}

// A page of more requests than it shows has the latencies of all, by name and in order of time.
func TestLatenciesAreOfAllRequests(t *testing.T) {
	const shown, all = 2000, 2003
	var records []op.Record
	for i := range int64(all) {
		id := op.TraceID{15: byte(i), 14: byte(i >> 8), 0: 1}
		root, o := request(1_000+10*(all-i), 5), operation("matmul", 2, 1_000+10*(all-i), 3)
		root.Span.TraceID, o.Entry.TraceID = id, id
		if i%2 == 1 {
			root.Span.Name = "other"
		}
		records = append(records, root, o)
	}
	v, _ := decode(t, pageOf(t, html.Options{}, records...))
	if len(v.Requests) != shown || len(v.Latencies) != 2 {
		t.Fatalf("%d requests, %d names", len(v.Requests), len(v.Latencies))
	}
	for i, want := range []int{all/2 + 1, all / 2} {
		l := v.Latencies[i]
		starts := slices.Repeat([]int64{20}, want)
		starts[0] = int64(10 * i)
		check.Equal(t, "starts of "+l.Name, starts, l.Starts)
		check.Equal(t, "durations of "+l.Name, slices.Repeat([]int64{5}, want), l.Durs)
	}
	v, _ = decode(t, pageOf(t, html.Options{}, records[:2*shown]...))
	check.Equal(t, "latencies of requests that are all shown", 0, len(v.Latencies))
}

// Kernels have the arguments of their launch.
func TestArguments(t *testing.T) {
	kernel := func(id byte, start int64, attrs ...op.Attr) op.Record {
		rec := operation("gemm", id, start, 5)
		rec.Entry.Attrs = attrs
		return rec
	}
	grid := op.Attr{Key: "grid", Value: "[50,4,1]", Type: op.AttrJSON}
	v, c := decode(t, pageOf(t, html.Options{},
		kernel(2, 10), kernel(3, 20, grid, op.Attr{Key: "block", Value: "</script>"},
			op.Attr{Key: "other", Value: "x"}), kernel(4, 30, grid), kernel(5, 40, grid), kernel(6, 50)))
	check.Equal(t, "column", []uint64{0, 2, 3, 0, 1}, c["arguments"]) // 0 repeats the row before
	check.Equal(t, "arguments", `[{} {"grid":[50,4,1],"block":"\u003c/script\u003e"} {"grid":[50,4,1]}]`,
		fmt.Sprintf("%s", v.Arguments))
}

// The rows of the page add up to the report, for any input.
func TestColumnsAddUpToTheReport(t *testing.T) {
	var records []op.Record
	for i := range 500 {
		rec := operation(fmt.Sprint("op", i%7), byte(i), int64(i*37%1000), int64(i%50))
		rec.Entry.TraceID = op.TraceID{byte(i / 250), byte(i)}
		rec.Entry.ParentSpanID = op.SpanID{byte(i / 3)}
		rec.Entry.DeviceID = fmt.Sprint("cuda:", i%3)
		records = append(records, rec)
	}
	r := reportOn(t, records...)
	var b bytes.Buffer
	check.OK(t, html.Write(&b, r, html.Options{}))
	v, c := decode(t, b.String())
	sums := make(map[string]int64)
	selves := make(map[string]int64)
	for i := range v.Rows {
		sums[v.Names[c["name"][i]]] += int64(c["duration"][i])
		selves[v.Names[c["name"][i]]] += int64(c["duration"][i] - c["self"][i]/2) // none is longer than its operation
	}
	check.Equal(t, "operations", 7, len(sums))
	for _, o := range r.Operations {
		if sums[o.Operation] != o.SumNS || selves[o.Operation] != o.SelfNS.V {
			t.Errorf("%s: %d and %d in the page, %d and %d in the report", o.Operation, sums[o.Operation],
				selves[o.Operation], o.SumNS, o.SelfNS.V)
		}
	}
	for i, f := range r.Findings {
		check.Equal(t, "finding", string(check.Must(json.Marshal(f))(t)), string(v.Findings[i]))
		if v.Selections[i].Section == "" {
			t.Errorf("finding %d leads nowhere", i)
		}
	}
	var back analyze.Report
	check.OK(t, json.Unmarshal(v.Report, &back))
	check.Equal(t, "the page's report has a total", r.Total.SumNS, back.Total.SumNS)
}

// hostile are names that would break out of a careless page.
var hostile = []string{
	`</script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "<!--", "]]>", "\u2028\u2029",
	"'};alert(1);//", "{{.}}", "\x00\xff", "<script>",
}

// The page knows the device of each stream in the report's launches.
func TestLaunchDevices(t *testing.T) {
	launched := func(device string, stream, start int64) op.Record {
		return op.Record{Entry: &op.Entry{
			Operation: "op", DeviceID: device, Stream: op.Known(stream), Start: op.Known(start), Duration: 5,
			Launch: op.Known(start - 1),
		}}
	}
	v, c := decode(t, pageOf(t, html.Options{}, launched("cuda:10", 1, 100), launched("cuda:2", 4, 110),
		launched("cuda:2", 3, 120),
		op.Record{Entry: &op.Entry{Operation: "unknown", DeviceID: "cuda:0", Start: op.Known(130), Duration: 5}}))
	var report analyze.Report
	check.OK(t, json.Unmarshal(v.Report, &report))
	var got []string
	for i, device := range v.LaunchDevices {
		s := report.Launches.Streams[i]
		got = append(got, fmt.Sprintf("%s %d: %s", s.DeviceID, s.Stream.V, v.Devices[device].Label))
	}
	var idle []string
	for _, d := range v.Devices {
		if d.IdleRow >= 0 {
			idle = append(idle, d.Label+": "+report.IdleCauses.Devices[d.IdleRow].DeviceID)
		}
	}
	check.Equal(t, "idle", []string{"cuda:2: cuda:2"}, idle) // the others ran one operation each
	check.Equal(t, "devices", []string{"cuda:2 3: cuda:2", "cuda:2 4: cuda:2", "cuda:10 1: cuda:10"}, got)
	check.Equal(t, "launches", []uint64{3, 3, 3, 0}, c["launch"])
}

var script = regexp.MustCompile(`(?s)<script type="module">(.*)</script>`)

// checkPage checks that a page has exactly the elements of the frame, and that its policy allows its own script and
// style.
func checkPage(tb testing.TB, page string) {
	tb.Helper()
	if !strings.Contains(page,
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-`) {
		tb.Error("the policy allows more than the page's own text")
	}
	frame := viewText.ReplaceAllString(rowsText.ReplaceAllString(script.ReplaceAllString(page, "SCRIPT"), "ROWS"),
		"VIEW")
	if strings.Contains(frame, "<script") || strings.Contains(frame, "<img") || strings.Contains(frame, "<!--") {
		tb.Errorf("markup in the page's texts:\n%s", frame)
	}
	for _, m := range viewText.FindAllStringSubmatch(page, -1) {
		if strings.ContainsAny(m[1], "<>") {
			tb.Error("markup in the page's JSON")
		}
	}
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(page)
	for _, text := range []string{style[1], script.FindStringSubmatch(page)[1]} {
		sum := sha256.Sum256([]byte(text))
		want := strings.ReplaceAll("sha256-"+base64.StdEncoding.EncodeToString(sum[:]), "+", "&#43;")
		if !strings.Contains(page, "'"+want+"'") && !strings.Contains(page, "&#39;"+want+"&#39;") {
			tb.Errorf("the policy does not allow the page's own text: %s", want)
		}
	}
}

// The page contains no address that a browser would load.
func TestLoadsNothing(t *testing.T) {
	page := pageOf(t, html.Options{Title: "ops.jsonl"}, request(0, 1_000), operation("matmul", 2, 100, 500))
	for _, m := range regexp.MustCompile(`https?://[^"' )]*`).FindAllString(page, -1) {
		if m != "http://www.w3.org/2000/svg" { // the name of a namespace
			t.Errorf("address %s", m)
		}
	}
	if strings.Contains(page, " src=") || strings.Contains(page, "@import") || strings.Contains(page, "url(") {
		t.Error("the page loads something")
	}
}

func TestEmpty(t *testing.T) {
	page := pageOf(t, html.Options{})
	if v, _ := decode(t, page); v.Rows != 0 {
		t.Errorf("%d rows", v.Rows)
	}
	if !strings.Contains(page, "0 operations in 0 spans on 0 devices") || !strings.Contains(page, "Nothing came in.") {
		t.Error("an empty input is not described")
	}
}

func TestWriteErrors(t *testing.T) {
	r := check.Must(analyze.Run(t.Context(), analyze.Records(func(func(op.Record, error) bool) {}),
		analyze.Options{}))(t)
	check.Says(t, "a report without its forest is accepted", "", html.Write(io.Discard, r, html.Options{}))
	check.Is(t, "", fulldisk.Err, html.Write(&fulldisk.Writer{}, reportOn(t), html.Options{}))
}

// A hundred thousand operations of a realistic graph take less than 2 MB.
func TestSize(t *testing.T) {
	if page := pageOf(t, html.Options{}, graphRecords()...); len(page) > 2<<20 {
		t.Errorf("%d bytes", len(page))
	}
}

func graphRecords() []op.Record {
	var records []op.Record
	start := int64(0)
	for i := range 100_000 {
		rec := operation(fmt.Sprint("operation_", i*7919%200), 0, start, 5_000+int64(i)*104_729%90_000)
		binary.BigEndian.PutUint64(rec.Entry.SpanID[:], uint64(i+1))
		rec.Entry.DeviceID = fmt.Sprint("cuda:", i%8)
		rec.Entry.Step = op.Known(int64(i / 2000))
		start += int64(i) * 7_919 % 9_000
		records = append(records, rec)
	}
	return records
}

func FuzzWrite(f *testing.F) {
	for _, name := range hostile {
		f.Add(name, int64(100), int64(50))
	}
	f.Add("matmul", int64(-5), int64(1<<60))
	f.Fuzz(func(t *testing.T, name string, start, duration int64) {
		rec := operation(name, 2, start, max(0, duration))
		rec.Entry.DeviceID = name
		rec.Entry.DType = op.DType(name)
		req := request(start/2, max(0, duration))
		req.Span.Name = name
		req.Span.Service = name
		page := pageOf(t, html.Options{Title: name, Version: name}, req, rec)
		checkPage(t, page)
		decode(t, page)
	})
}
