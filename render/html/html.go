package html

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/flate"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/internal/model/kernelname"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// leastShort is the length up to which names are shown in full everywhere.
const leastShort = 22

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
	return page.Execute(w, map[string]any{
		"Title": opts.Title, "Version": opts.Version, "Live": opts.Live, "Diff": opts.Diff != nil, "Build": d.Build,
		"Sentence": d.Sentence, "Chips": d.Notes, "LeftOut": d.LeftOut,
		"ScriptSum": hashOf(script), "StyleSum": hashOf(style), "Connect": connect(opts),
		// These values are the package's own files, and JSON without markup.
		"Style":  template.HTML("<style>" + style + "</style>"),
		"View":   template.HTML(`<script type="application/json" id="view">` + string(d.View) + `</script>`),
		"Rows":   template.HTML(`<script type="application/octet-stream" id="rows">` + d.Rows + `</script>`),
		"Script": template.HTML(`<script type="module">` + script + `</script>`),
	})
}

// WriteData writes the changed data of a live page as JSON.
func WriteData(w io.Writer, r *analyze.Report, opts Options) error {
	d, err := newData(r, opts, flate.BestSpeed)
	if err != nil {
		return err
	}
	text, err := json.Marshal(d)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// Policy returns the content security policy of pages.
func Policy(opts Options) string {
	return "default-src 'none'; style-src '" + hashOf(asset("page.css")) + "'; script-src '" +
		hashOf(script(opts.Live)) + "';" +
		connect(opts) +
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
	Build    string          `json:"build"`
	Title    string          `json:"title"`
	Sentence string          `json:"sentence"`
	Notes    []Note          `json:"notes"`
	LeftOut  int             `json:"left_out"`
	View     json.RawMessage `json:"view"`
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
	text, err := json.Marshal(v) // escapes <, >, & and line separators
	if err != nil {
		return nil, err
	}
	line, chips := sentence(r, v.reported)
	if v.Rows > largePage {
		chips = append(chips, Note{"large page", units.Count(int64(v.Rows)) + " rows take about " +
			units.Bytes(rowBytes*int64(v.Rows)) + " of the browser's memory. A part opens faster: -where or -steady."})
	}
	return &data{
		Build: hashOf(asset("page.css") + script(opts.Live)), Title: opts.Title, Sentence: line,
		Notes: append(chips, opts.Notes...), LeftOut: columns.leftOut, View: text, Rows: rows,
	}, nil
}

// page is the frame of the page. The template escapes its texts.
var page = template.Must(template.New("page").Parse(asset("page.html")))

// hashOf returns the source expression of a content security policy for an inline text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
