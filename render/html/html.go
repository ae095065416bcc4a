package html

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/internal/model/kernelname"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

const leastShort = 22 // the length up to which names are shown in full everywhere

// largePage is the number of rows above which a page warns of its size, rowBytes the memory of a row in the browser.
const (
	largePage = 2_000_000
	rowBytes  = 200
)

// Options configures a page. The zero value is ready to use.
type Options struct {
	// Title names the inputs.
	Title string
	// Version is the version of the program.
	Version string
	// Link returns the address of a span in a tracing backend, "" for no link. A nil Link leaves links out.
	Link func(trace op.TraceID, span op.SpanID) string
	// Live makes a page that fetches new data from its server once a second, at address data beside its own. It can
	// also pass the trace at address trace.json to ui.perfetto.dev. See [WriteData].
	Live bool
	// Diff is the comparison with another run, nil for no comparison. The report is the head's.
	Diff *diff.Report
	// Notes are shown in the head of the page.
	Notes []Note
}

// Note is a short label about the data, with an explanation.
type Note struct {
	Label  string `json:"label"`
	Detail string `json:"detail"`
}

// Write writes the page of a report made with [analyze.Options].KeepForest.
func Write(w io.Writer, r *analyze.Report, opts Options) error {
	level := 5 // a tenth of the time of the best level, for files 5 % larger
	if opts.Live {
		level = flate.BestSpeed // it goes to a browser on the same machine
	}
	d, err := newData(r, opts, level)
	if err != nil {
		return err
	}
	script := script(opts.Live)
	style := asset("page.css")
	var frame bytes.Buffer
	const data = "<!-- data -->"
	if err := page.Execute(&frame, map[string]any{
		"Title": opts.Title, "Version": opts.Version, "Live": opts.Live, "Diff": opts.Diff != nil, "Build": d.Build,
		"Sentence": d.Sentence, "Chips": d.Notes, "LeftOut": d.LeftOut,
		"ScriptSum": hashOf(script), "StyleSum": hashOf(style), "Connect": connect(opts),
		// These values are the package's own files, and JSON without markup.
		"Style":  template.HTML("<style>" + style + "</style>"),
		"Data":   template.HTML(data),
		"Script": template.HTML(`<script type="module">` + script + `</script>`),
	}); err != nil {
		return err
	}
	before, behind, _ := strings.Cut(frame.String(), data)
	to := bufio.NewWriter(w)
	_, _ = to.WriteString(before + `<script type="application/json" id="view">`)
	if err := encode(to, reflect.ValueOf(d.View)); err != nil {
		return err
	}
	_, _ = to.WriteString(`</script>
<script type="application/octet-stream" id="rows">` + d.Rows + `</script>` + behind)
	return to.Flush() // also has the errors of the writes
}

// encode writes a struct as encoding/json does, a field at a time, also within the report: its text may be several times
// as large as the recording. It escapes <, >, & and line separators.
func encode(w *bufio.Writer, v reflect.Value) error {
	between := byte('{')
	for f, value := range v.Elem().Fields() {
		name, omit, _ := strings.Cut(f.Tag.Get("json"), ",")
		isList := f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Map
		if !f.IsExported() || name == "-" || omit != "" && (value.IsZero() || isList && value.Len() == 0) {
			continue
		}
		_ = w.WriteByte(between)
		between = ','
		_, _ = fmt.Fprintf(w, "%q:", name)
		err := error(nil)
		if f.Type == reflect.TypeFor[*analyze.Report]() {
			err = encode(w, value)
		} else {
			err = json.NewEncoder(w).Encode(value.Interface())
		}
		if err != nil {
			return err
		}
	}
	return w.WriteByte('}')
}

// WriteData writes the changed data of a live page as JSON.
func WriteData(w io.Writer, r *analyze.Report, opts Options) error {
	d, err := newData(r, opts, flate.BestSpeed)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(d)
}

// Policy returns the content security policy of pages.
func Policy(opts Options) string {
	return "default-src 'none'; style-src '" + hashOf(asset("page.css")) + "'; script-src '" +
		hashOf(script(opts.Live)) + "';" + connect(opts) +
		" base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// connect returns the part of the policy that lets a live page reach its server.
func connect(opts Options) string {
	if opts.Live {
		return " connect-src 'self';"
	}
	return ""
}

type data struct {
	// Build identifies the scripts of a version of this package.
	Build    string `json:"build"`
	Title    string `json:"title"`
	Sentence string `json:"sentence"`
	Notes    []Note `json:"notes"`
	LeftOut  int    `json:"left_out"`
	View     *view  `json:"view"`
	// Rows are the columns of the operations, compressed, in base64.
	Rows string `json:"rows"`
}

func newData(r *analyze.Report, opts Options, level int) (*data, error) {
	if r.Forest == nil {
		return nil, errors.New("html: the report has no forest; set KeepForest")
	}
	v, columns := newView(r, opts)
	rows := columns.encode(level)
	v.Names = append(v.Names, columns.names.Values...)
	v.Shapes = columns.shapes.Values
	v.Errors = append(v.Errors, columns.errors.Values...)
	v.Short = make(map[string]string)
	for i, short := range termtext.Distinct(v.Names, math.MaxInt32, kernelname.Short, kernelname.Long) {
		if name := v.Names[i]; short != name && len(name) > leastShort {
			v.Short[name] = short
		}
	}
	v.Steps = append(v.Steps, columns.steps.Values...)
	v.Threads = append(v.Threads, columns.threads.Values...)
	for _, text := range columns.arguments.Values {
		v.Arguments = append(v.Arguments, json.RawMessage(cmp.Or(text, "{}")))
	}
	all := r.Findings
	if opts.Diff != nil { // the page begins with the change
		all = slices.Clone(opts.Diff.Findings)
		for _, f := range r.Findings {
			f.Text = "In the head: " + f.Text
			all = append(all, f)
		}
	}
	for i := range all {
		v.Findings = append(v.Findings, all[i])
		v.Selections = append(v.Selections, selectionOf(&all[i], r, v))
	}
	line, chips := sentence(r, v.reported)
	if v.Rows > largePage {
		chips = append(chips, Note{"large page", units.Count(int64(v.Rows)) + " rows take about " +
			units.Bytes(rowBytes*int64(v.Rows)) + " of the browser's memory. A part opens faster: -where or -steady."})
	}
	return &data{
		Build: hashOf(asset("page.css") + script(opts.Live)), Title: opts.Title, Sentence: line,
		Notes: append(chips, opts.Notes...), LeftOut: columns.leftOut, View: v, Rows: rows,
	}, nil
}

// page is the frame of the page. The template escapes its texts.
var page = template.Must(template.New("page").Parse(asset("page.html")))

// hashOf returns the source expression of a content security policy for an inline text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
