package html

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"io"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
)

// Options configures a page. The zero value is ready to use.
type Options struct {
	// Title names the inputs.
	Title string
	// Version is the version of the program that makes the page.
	Version string
	// Link returns the address of a span in a tracing backend, "" for none. Nil
	// leaves links out.
	Link func(trace op.TraceID, span op.SpanID) string
}

// Write writes the page of a report that was made with
// [analyze.Options].KeepForest.
func Write(w io.Writer, r *analyze.Report, opts Options) error {
	if r.Forest == nil {
		return errors.New("html: the report was made without its forest")
	}
	v, columns := newView(r, opts)
	var data bytes.Buffer
	if err := columns.encode(&data); err != nil {
		return err
	}
	v.Names, v.Shapes = append(v.Names, columns.names.values...), columns.shapes.values
	v.Steps = append(v.Steps, columns.steps.values...)
	text, err := json.Marshal(v) // escapes <, >, & and line separators
	if err != nil {
		return err
	}

	script, style := script(), asset("page.css")
	line, chips := sentence(r, len(v.Devices))
	var found []shownFinding
	for _, f := range findings(r, v) {
		selected, err := json.Marshal(f.Select)
		if err != nil {
			return err
		}
		found = append(found, shownFinding{f.Text, string(selected)})
	}
	return page.Execute(w, map[string]any{
		"Title": opts.Title, "Version": opts.Version, "Sentence": line, "Chips": chips, "Findings": found,
		"LeftOut":   columns.leftOut,
		"ScriptSum": hashOf(script), "StyleSum": hashOf(style),
		// These three are this package's own files and JSON without markup.
		"Style":  template.HTML("<style>" + style + "</style>"),
		"View":   template.HTML(`<script type="application/json" id="view">` + string(text) + `</script>`),
		"Rows":   template.HTML(`<script type="application/octet-stream" id="rows">` + data.String() + `</script>`),
		"Script": template.HTML(`<script type="module">` + script + `</script>`),
	})
}

// shownFinding is a finding as the template takes it.
type shownFinding struct{ Text, SelectJSON string }

// page is the frame of the page. The template escapes every text in it.
var page = template.Must(template.New("page").Parse(asset("page.html")))

// hashOf returns the source expression of a content security policy that allows
// an inline text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
