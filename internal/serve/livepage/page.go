package livepage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/render/html"
	"github.com/optrace/optrace/render/pprof"
	"github.com/optrace/optrace/render/text"
)

// Page reports on a window to browsers and scripts. The last element of a request's path selects the answer:
//
//   - "": the page; the report as JSON with ?format=json, as text with ?format=text (&section=NAME or &section=all
//     shows more), collapsed stacks with ?format=collapsed, a profile for go tool pprof with ?format=pprof;
//   - data: the next data of the page, with an ETag;
//   - trace.json: a Chrome trace.
//
// Set its fields before the first request. It is safe for concurrent use.
type Page struct {
	Window  *Window
	Title   string // names the inputs
	Version string // the version of the program
	// Fill is called before each read of the window, to add pending records, never concurrently; it may be nil.
	Fill func()
	// Since returns the report since the start, for ?format=json&since=start; it may be nil.
	Since func() *analyze.Report

	run     sync.Mutex // held while an answer is computed, never while it is written
	built   built
	sending sending
}

// built is the answer to requests for data, for one version of the window.
type built struct {
	version uint64
	answer  *answer
	at      time.Time
	took    time.Duration
}

const maxGroups = 1000 // bounds the rows of a table; further groups share one

const maxPause = 5 * time.Second // bounds the delay of data behind the window when reports are slow

// ServeHTTP implements http.Handler.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead { // other methods would change state
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	var err error
	q := r.URL.Query()
	switch name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]; {
	case p.Since != nil && q.Get("format") == "json" && q.Get("since") == "start":
		err = p.answer(w, r, "application/json", func(to io.Writer) error {
			return writeJSON(to, p.Since(), html.Options{})
		})
	case name == "":
		err = p.serveReport(w, r)
	case name == "data":
		err = p.serveData(w, r)
	case name == "trace.json":
		err = p.serveTrace(w, r)
	default:
		http.NotFound(w, r)
	}
	if err != nil && r.Context().Err() == nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (p *Page) view() *view {
	if p.Fill != nil {
		p.Fill()
	}
	return p.Window.view()
}

func (p *Page) serveReport(w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("format")
	f, ok := formats[name]
	if !ok {
		http.Error(w, "the format is json, text, collapsed, pprof, or none for the page", http.StatusBadRequest)
		return nil
	}
	switch name {
	case "":
		w.Header().Set("Content-Security-Policy", html.Policy(html.Options{Live: true}))
	case "pprof":
		w.Header().Set("Content-Disposition", `attachment; filename="optrace.pb.gz"`)
	}
	section := r.URL.Query().Get("section")
	err := p.answer(w, r, f.kind, func(to io.Writer) error {
		v := p.view()
		report, err := v.report(r.Context())
		if err != nil {
			return err
		}
		if name == "text" && section != "" {
			return writeSection(to, report, section)
		}
		return f.write(to, report, p.options(v, report))
	})
	if errors.Is(err, errNoSection) {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil
	}
	return err
}

var errNoSection = errors.New("the section is all, or a name for optrace report -section")

// answer computes a body, one at a time, and sends it to the client of r.
func (p *Page) answer(w http.ResponseWriter, r *http.Request, kind string, write func(io.Writer) error) error {
	a, err := p.compute(r.Context(), write)
	if err == nil {
		p.sending.send(w, kind, a)
	}
	return err
}

func (p *Page) compute(ctx context.Context, write func(io.Writer) error) (*answer, error) {
	p.run.Lock()
	defer p.run.Unlock()
	if err := ctx.Err(); err != nil { // it waited for others
		return nil, err
	}
	var body bytes.Buffer
	if err := untilDone(ctx, &body, write); err != nil {
		return nil, err
	}
	return &answer{data: body.Bytes()}, nil
}

// untilDone calls write with a writer to body. Once ctx is done, writes fail and untilDone returns ctx.Err(), even if
// write returns nil.
func untilDone(ctx context.Context, body *bytes.Buffer, write func(io.Writer) error) error {
	return cmp.Or(write(writerFunc(func(text []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return body.Write(text)
	})), ctx.Err())
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(text []byte) (int, error) { return f(text) }

// formats has the content type and writer of each format of a report.
var formats = map[string]struct {
	kind  string
	write func(io.Writer, *analyze.Report, html.Options) error
}{
	"":     {"text/html; charset=utf-8", html.Write},
	"json": {"application/json", writeJSON},
	"text": {plain, func(w io.Writer, r *analyze.Report, _ html.Options) error {
		return text.WriteOverview(w, r, text.Options{})
	}},
	"collapsed": {plain, func(w io.Writer, r *analyze.Report,
		_ html.Options) error {
		return stacks.WriteForest(r.Forest, w)
	}},
	"pprof": {"application/octet-stream", writePprof},
}

func writeSection(w io.Writer, r *analyze.Report, section string) error {
	known := section == "summary"
	err := text.Write(w, r, text.Options{Show: func(s string) bool {
		shown := section == "all" || s == section
		known = known || shown
		return shown
	}})
	if !known {
		return errNoSection
	}
	return err
}

const plain = "text/plain; charset=utf-8"

// report returns the report on a view. Later computations on its forest also end with ctx.
func (v *view) report(ctx context.Context) (*analyze.Report, error) {
	r, err := analyze.Run(ctx, v, analyze.Options{KeepForest: true, MaxGroups: maxGroups, Workers: 1})
	if err != nil {
		return nil, err
	}
	r.Forest.Until(func() bool { return ctx.Err() != nil })
	return r, nil
}

func writeJSON(w io.Writer, r *analyze.Report, _ html.Options) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

func writePprof(w io.Writer, r *analyze.Report, page html.Options) error {
	opts := pprof.Options{Version: page.Version, Lost: r.Input.Dropped, Unread: r.Input.Malformed}
	for _, n := range page.Notes {
		opts.Notes = append(opts.Notes, n.Label)
	}
	return pprof.Write(w, stacks.Of(r.Forest), opts)
}

func (p *Page) serveData(w http.ResponseWriter, r *http.Request) error {
	b, err := p.data(r.Context())
	if err != nil {
		return err
	}
	// Another process that serves the page counts versions from the start again.
	tag := fmt.Sprintf(`"%s-%d"`, p.Window.id, b.version)
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	p.sending.send(w, "application/json", b.answer)
	return nil
}

// data returns the data of a page. It computes them again if the window has changed and the last time is long enough
// ago.
func (p *Page) data(ctx context.Context) (built, error) {
	p.run.Lock()
	defer p.run.Unlock()
	v := p.view()
	if p.built.answer != nil && (p.built.version == v.version ||
		time.Since(p.built.at) < min(2*p.built.took, maxPause)) {
		return p.built, nil
	}
	start := time.Now()
	report, err := v.report(ctx)
	if err != nil {
		return built{}, err
	}
	var text bytes.Buffer
	if err := untilDone(ctx, &text,
		func(to io.Writer) error { return html.WriteData(to, report, p.options(v, report)) }); err != nil {
		return built{}, err
	}
	p.built = built{version: v.version, answer: &answer{data: text.Bytes()}, at: time.Now(), took: time.Since(start)}
	return p.built, nil
}

func (p *Page) serveTrace(w http.ResponseWriter, r *http.Request) error {
	return p.answer(w, r, "application/json", func(to io.Writer) error {
		t, err := p.view().timeline(r.Context())
		if err != nil {
			return err
		}
		return t.Write(to)
	})
}

func (p *Page) options(v *view, r *analyze.Report) html.Options {
	return html.Options{Title: titleOf(r.Forest, p.Title), Version: p.Version, Live: true, Notes: []html.Note{p.Window.note(v.lost)}}
}

const maxServices = 3 // bounds the services named in the title

// titleOf names the services of f in front of the inputs' title.
func titleOf(f *trace.Forest, inputs string) string {
	found := make(map[string]bool)
	for i := range f.Names.Lanes.Values {
		found[f.Names.Lanes.Values[i].Service] = true
	}
	for i := range f.Names.Spans.Values {
		found[f.Names.Spans.Values[i].Service] = true
	}
	delete(found, "")
	services := slices.Sorted(maps.Keys(found))
	if n := len(services); n > maxServices {
		services = append(services[:maxServices], fmt.Sprintf("and %d more", n-maxServices))
	}
	if len(services) == 0 {
		return inputs
	}
	return strings.Join(services, ", ") + " · " + inputs
}

// note describes the window and counts records that fell out.
func (w *Window) note(lost Lost) html.Note {
	bounds := "the latest " + units.Count(int64(w.limits.Records)) + " operations and spans"
	if w.limits.Age > 0 {
		bounds += " of the last " + w.limits.Age.String()
	}
	bounds += ", up to " + units.Bytes(w.limits.Bytes)
	if n := lost.Operations + lost.Spans + lost.Other; n > 0 {
		return html.Note{
			Label: units.Count(n) + " fell out of the window",
			Detail: fmt.Sprintf("The page shows %s. Older ones fell out: %s, %s, %s.",
				bounds, units.Plural(lost.Operations, "operation"), units.Plural(lost.Spans, "span"),
				units.Plural(lost.Other, "other record")),
		}
	}
	return html.Note{
		Label:  "window of " + units.Count(int64(w.limits.Records)),
		Detail: "The page shows " + bounds + ". Nothing has fallen out yet.",
	}
}
