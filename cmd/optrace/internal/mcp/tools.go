package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/analyze/doctor"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/internal/units"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/text"
)

// width is that of the lines of answers.
const width = 120

type inputsArgs struct {
	Inputs []string `json:"inputs" jsonschema:"files or directories of one run, absolute or relative to a directory of the server"`
}

func (s *Server) overview(ctx context.Context, in inputsArgs) (answer, more string, err error) {
	r, err := s.report(ctx, in.Inputs, "", nil, analyze.Options{})
	if err != nil {
		return "", "", err
	}
	var b strings.Builder
	err = text.WriteOverview(&b, r, text.Options{Width: width})
	return b.String(), "call table with a section", err
}

type tableArgs struct {
	Inputs  []string          `json:"inputs" jsonschema:"files or directories of one run"`
	Section string            `json:"section,omitempty" jsonschema:"findings, operations, devices, balance, communication, memory, slowest, idle, launches, critical_path, sequences, steps, phases, engines or operators; operations by default"`
	By      string            `json:"by,omitempty" jsonschema:"keys to group by, separated by commas: operation, kind, device, rank, stream, shape, step, root, service, trace, path, module, operator, phase, model, route, tenant, attr:NAME"`
	Where   map[string]string `json:"where,omitempty" jsonschema:"only the operations with these values of keys, such as {\"device\": \"gpu:0\"}"`
	Top     int               `json:"top,omitempty" jsonschema:"how many rows, 20 by default"`
}

func (s *Server) table(ctx context.Context, in tableArgs) (answer, more string, err error) {
	keys, err := key.Parse(in.By)
	if err != nil {
		return "", "", err
	}
	var where key.Filter
	for _, name := range slices.Sorted(maps.Keys(in.Where)) {
		if err := where.Set(name + "=" + in.Where[name]); err != nil {
			return "", "", err
		}
	}
	section := in.Section
	if section == "" {
		section = text.SectionOperations
	}
	if !slices.Contains(s.opts.Sections, section) {
		return "", "", fmt.Errorf("there is no section %q; there are %s", section, strings.Join(s.opts.Sections, ", "))
	}
	top := in.Top
	if top <= 0 {
		top = 20
	}
	opts := analyze.Options{By: keys, Top: top}
	if len(in.Where) > 0 {
		opts.Filter = where.Match
	}
	r, err := s.report(ctx, in.Inputs, fmt.Sprint(in.By, "\x00", where.String(), "\x00", top), slices.Concat(keys, where.Keys()), opts)
	if err != nil {
		return "", "", err
	}
	return show(r, top, section), "ask for fewer rows with top, or for fewer operations with where", nil
}

type operationArgs struct {
	Inputs []string `json:"inputs" jsonschema:"files or directories of one run"`
	Name   string   `json:"name" jsonschema:"the name of an operation, or a part of it that only its name has"`
}

func (s *Server) operation(ctx context.Context, in operationArgs) (answer, more string, err error) {
	all, err := s.report(ctx, in.Inputs, "", nil, analyze.Options{})
	if err != nil {
		return "", "", err
	}
	name, err := nameOf(all, in.Name)
	if err != nil {
		return "", "", err
	}
	by, _ := key.Parse("device,shape")
	r, err := s.report(ctx, in.Inputs, "operation\x00"+name, by, analyze.Options{
		By: by, Filter: func(e *op.Entry) bool { return e.Operation == name },
	})
	if err != nil {
		return "", "", err
	}
	var b strings.Builder
	b.WriteString(name + "\n\n" + show(r, 10, text.SectionOperations, text.SectionSlowest))
	for _, f := range all.Findings {
		if f.Where.Operation == name {
			fmt.Fprintf(&b, "\nOf the whole run: %s\n", f.Text)
		}
	}
	for _, p := range all.PathOperations {
		if p.Operation == name {
			fmt.Fprintf(&b, "\nOf the whole run: %s of the critical paths, %s.\n", units.Duration(p.TimeNS), units.Percent(p.Share))
		}
	}
	return b.String(), "call table with where operation=" + name, nil
}

// nameOf returns the name of the only operation with name, or with name in its own.
func nameOf(r *analyze.Report, name string) (string, error) {
	var found, names []string
	for _, row := range r.Operations {
		if row.Operation == name {
			return name, nil
		}
		if name != "" && strings.Contains(strings.ToLower(row.Operation), strings.ToLower(name)) {
			found = append(found, row.Operation)
		}
		names = append(names, row.Operation)
	}
	found = slices.Compact(found)
	const most = 10
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("%d operations have %q in their names; choose one of %q", len(found), name, found[:min(len(found), most)])
	case len(names) == 0:
		return "", errors.New("there are no operations in the input")
	}
	return "", fmt.Errorf("no operation has the name %q; the largest are %q", name, names[:min(len(names), most)])
}

// show returns sections of a report.
func show(r *analyze.Report, rows int, sections ...string) string {
	var b strings.Builder
	_ = text.Write(&b, r, text.Options{Width: width, Rows: rows, Show: func(s string) bool { return slices.Contains(sections, s) }})
	return b.String()
}

type requestArgs struct {
	Inputs  []string `json:"inputs" jsonschema:"files or directories of one run, with the spans of the requests"`
	TraceID string   `json:"trace_id,omitempty" jsonschema:"only the requests of this trace, 32 hexadecimal digits"`
	Top     int      `json:"top,omitempty" jsonschema:"how many requests, 5 by default"`
}

func (s *Server) request(ctx context.Context, in requestArgs) (answer, more string, err error) {
	opts := correlate.Options{}
	if in.TraceID != "" {
		id, ok := op.ParseTraceID([]byte(in.TraceID))
		if !ok || id.IsZero() {
			return "", "", fmt.Errorf("%q is no trace id of 32 hexadecimal digits", in.TraceID)
		}
		opts.Keep = func(q *requests.Request) bool { return q.TraceID == id }
		opts.KeepTrace = func(t op.TraceID) bool { return t == id }
	}
	paths, err := s.resolve(in.Inputs)
	if err != nil {
		return "", "", err
	}
	forest, env, err := analyze.ReadForest(ctx, s.open(paths, nil), 0)
	if err != nil {
		return "", "", exit.Input(err)
	}
	join := correlate.NewJoin()
	join.TakeLocal(forest)
	join.DescribeLocal(env)
	opts.Input, opts.Findings = env, in.TraceID == ""
	r := join.Report(opts)
	if len(r.Requests) == 0 && in.TraceID != "" {
		return "", "", fmt.Errorf("the input has no request of the trace %s; request without trace_id lists those it has", in.TraceID)
	}
	top := in.Top
	if top <= 0 {
		top = 5
	}
	var b strings.Builder
	err = text.WriteCorrelation(&b, r, text.Options{Width: width, Top: top, Rows: top})
	return b.String(), "ask for one trace_id, or for fewer requests with top", err
}

type compareArgs struct {
	Base []string `json:"base" jsonschema:"runs before, each a file or directory"`
	Head []string `json:"head" jsonschema:"runs after, each a file or directory"`
	By   string   `json:"by,omitempty" jsonschema:"keys to group by instead of operations, separated by commas"`
}

func (s *Server) compare(ctx context.Context, in compareArgs) (answer, more string, err error) {
	keys, err := key.Parse(in.By)
	if err != nil {
		return "", "", err
	}
	var sides [2][]*diff.Run
	for side, inputs := range [2][]string{in.Base, in.Head} {
		if len(inputs) == 0 {
			return "", "", fmt.Errorf("base and head must both name a run; %s", s.list())
		}
		for _, name := range inputs {
			paths, err := s.resolve([]string{name})
			if err != nil {
				return "", "", err
			}
			r, err := s.run(ctx, paths, keys, diff.ReportOptions(keys)) // with the structure, which is not kept
			if err != nil {
				return "", "", fmt.Errorf("%s: %w", name, err)
			}
			run, err := diff.NewRun(name, r, keys, len(in.Base) == 1 && len(in.Head) == 1)
			if err != nil {
				return "", "", exit.Input(err)
			}
			sides[side] = append(sides[side], run)
		}
	}
	r, err := diff.Compare(sides[0], sides[1], diff.Options{})
	if err != nil {
		return "", "", exit.Input(err)
	}
	var b strings.Builder
	err = text.WriteDiff(&b, r, text.Options{Width: width, Rows: 15})
	return b.String(), "compare by fewer keys", err
}

func (s *Server) doctor(ctx context.Context, in inputsArgs) (answer, more string, err error) {
	paths, err := s.resolve(in.Inputs)
	if err != nil {
		return "", "", err
	}
	r, err := doctor.Run(ctx, s.open(paths, nil))
	if err != nil {
		return "", "", exit.Input(err)
	}
	var b strings.Builder
	err = text.WriteDoctor(&b, r, text.Options{Width: width})
	return b.String(), "what is missing in most operations comes first", err
}
