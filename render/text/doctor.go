package text

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/doctor"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// WriteDoctor renders r to w with one call of Write.
func WriteDoctor(w io.Writer, r *doctor.Report, opts Options) error {
	opts.Rows = len(r.Findings)
	v := &examination{newPage(opts), r}
	v.envelope()
	if r.Input.Entries == 0 {
		v.nothing()
	} else {
		v.findings()
	}
	v.coverage()
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Missing > 0 && !v.never(f) {
			v.advice(f)
		}
	}
	return v.writeTo(w)
}

type examination struct {
	page
	r *doctor.Report
}

func (v *examination) envelope() {
	in := &v.r.Input
	v.field("input", fmt.Sprintf("%s, %s", units.Plural(in.Files, "file"), units.Bytes(in.Bytes)), false)
	v.field("spans", fmt.Sprintf("%s: %s, %s skipped",
		units.Count(in.Spans), units.Plural(in.Entries, "entry"), units.Count(in.Skipped)), false)
	reasons, n := unknownCategories(in.SkippedBy)
	v.fault("unknown", n,
		units.Plural(n, "event")+" of categories that are not known, which may be operations: "+reasons)
	v.faults(in)
	if in.Sampling != analyze.SamplingNone {
		v.field("sampling", samplingText(in), in.Sampling == analyze.SamplingUnknown)
	}
	var missing, never []string
	for i := range v.r.Findings {
		switch f := &v.r.Findings[i]; {
		case f.Missing == 0:
		case v.never(f):
			never = append(never, thing(f))
		default:
			missing = append(missing, thing(f))
		}
	}
	switch {
	case in.Entries == 0 && len(v.r.Engines) > 0:
		v.field("missing", "operations; requests of engines need none", false)
	case in.Entries == 0:
		v.field("missing", "everything: the input has no operations", true)
	case len(missing) == 0 && never != nil:
		v.field("missing", "nothing more to get from options of this profiler", false)
	case len(missing) == 0:
		v.field("missing", "nothing", false)
	default:
		v.field("missing", strings.Join(missing, ", "), true)
	}
	v.fact("no option", int64(len(never)), "for "+strings.Join(never, ", ")+" in this profiler")
	v.field("record", v.r.Record, false)
}

// never reports whether no option of the profiler that recorded the input adds a property.
func (v *examination) never(f *doctor.Finding) bool { return v.r.Profiler != "" && f.Try == "" }

// coverage shows what the recording as a whole lacks.
func (v *examination) coverage() {
	if len(v.r.Coverage) == 0 {
		return
	}
	v.heading("COVERAGE")
	for _, lack := range v.r.Coverage {
		v.note(lack.Text + ".")
		v.labelled("try", lack.Try)
	}
}

// unknownCategories lists the unknown categories of a profiler's events, and counts their events.
func unknownCategories(skipped map[string]int64) (list string, n int64) {
	unknown := make(map[string]int64)
	for reason, events := range skipped {
		if name, ok := strings.CutPrefix(reason, string(op.SkipCategory)); ok {
			unknown[name] = events
			n += events
		}
	}
	return strings.Join(counted(unknown), ", "), n
}

// nothing lists common reasons for a recording without operations.
func (v *examination) nothing() {
	if len(v.r.Engines) > 0 {
		v.heading("REQUESTS OF ENGINES")
		for _, name := range slices.Sorted(maps.Keys(v.r.Engines)) {
			v.note(units.Plural(v.r.Engines[name],
				"request") + " of " + name + ": optrace report shows their waits")
		}
		v.code(0, "shell", "optrace report FILE")
		return
	}
	v.heading("NO OPERATIONS")
	if n := v.r.Input.Spans; n > 0 && slices.Equal(v.r.Input.Formats, []string{"nsys"}) {
		v.note(units.Plural(n, "span") + ", but no kernel, copy or range: the diagnostics of Nsight Systems say why")
		return
	}
	if n := v.r.Input.Spans; n > 0 {
		v.note(fmt.Sprintf("%s, but no operation among them: an operation has the attribute %s",
			units.Plural(n, "span"), attrkey.Name))
		v.code(0, "Go", `ctx, o := tr.Start(ctx, "matmul", "cuda:0") // a Tracer of optrace; o.End() when it has ended`)
		v.code(0, "else", attribute(&doctor.Attribute{Key: attrkey.Name, Type: "string", Example: "matmul",
			Where: "span attribute"}))
		return
	}
	if v.r.Input.Malformed > 0 {
		v.note("The input cannot be read.")
		return
	}
	if n := v.r.Input.SkippedBy[string(op.SkipOtherSignal)]; n > 0 {
		v.note(units.Plural(n, "record") + " of OTLP metrics, logs or profiles: operations are in its traces")
		return
	}
	if slices.Contains(v.r.Input.Formats, "chrome") {
		v.note("The profile has no event with a duration: it ended, or its schedule was inactive, before the work.")
		return
	}
	if in := &v.r.Input; in.Files > 0 && in.Bytes == 0 {
		v.note("The input is empty: the program ended before anything was flushed.")
	} else {
		v.note("Nothing was recorded, or the program ended before it was written.")
	}
	v.code(0, "Go", `defer sdk.Shutdown(ctx) // sdk is the result of Setup; else shut down the TracerProvider`)
	v.code(1, "Go", `o.End()                 // of each operation, and no os.Exit or log.Fatal before Shutdown`)
	v.code(2, "Go", `optrace.WithSignals()   // an option of Setup: an interrupt or SIGTERM flushes first`)
	v.code(3, "Go", `tr := sdk.Tracer()      // or NewTracer of the TracerProvider that has the Processor`)
	v.labelled("sampling",
		"a Processor gets no spans dropped by the sampler; Setup and sdktrace.AlwaysRecord keep them")
}

func thing(f *doctor.Finding) string { return strings.ReplaceAll(f.Name, "_", " ") }

func (v *examination) findings() {
	v.heading("LOOKED FOR")
	show(&v.page, "what:t|missing|:t2|of|:t1", v.r.Findings, func(t *table, f *doctor.Finding) {
		if f.Count == 0 {
			t.add(thing(f), "", "", "", "no "+f.Of)
			return
		}
		missing := units.Count(f.Missing)
		if f.Estimated {
			missing = "≈ " + missing
		}
		t.add(thing(f), missing, percent(f.Share.V), units.Count(f.Count), f.Of)
	})
}

// percent formats a share with enough digits to tell some from 0 % and 100 %.
func percent(share float64) string {
	switch text := units.Percent(share); {
	case share <= 0:
		return ""
	case share < 0.0005:
		return "<0.1 %"
	case share < 1 && share >= 0.9995:
		return ">99.9 %"
	default:
		return text
	}
}

// advice explains a missing thing and how to record it.
func (v *examination) advice(f *doctor.Finding) {
	v.heading(strings.ToUpper(thing(f)))
	v.note(f.Effect)
	if len(f.Operations) > 0 {
		var names []string
		for _, o := range f.Operations {
			names = append(names, inText(o.Operation)+" "+units.Count(o.Missing))
		}
		v.labelled("missing in", strings.Join(names, ", "))
	}
	v.labelled("costs", strings.Join(f.Figures, ", "))
	if f.Try != "" {
		v.labelled("try", f.Try)
	}
	for i, line := range f.Go {
		v.code(i, "Go", line)
	}
	for i, a := range f.Attributes {
		v.code(i, "else", attribute(&a))
	}
}

const adviceLabel = 12

func (v *examination) labelled(label, text string) {
	v.fold(fmt.Sprintf("  %-*s", adviceLabel, label), strings.Repeat(" ", adviceLabel+2), text, "")
}

// code writes line i behind a label, unfolded for copying.
func (v *examination) code(i int, label, line string) {
	if i > 0 {
		label = ""
	}
	fmt.Fprintf(&v.b, "  %-*s%s\n", adviceLabel, label, line)
}

func attribute(a *doctor.Attribute) string {
	example, _ := json.Marshal(a.Example) // a text, an integer, or a list
	return fmt.Sprintf("%s = %s  (%s; %s)", a.Key, example, a.Type, a.Where)
}
