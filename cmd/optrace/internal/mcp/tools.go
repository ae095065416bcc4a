package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
)

// run returns the output of a command for inputs named by an assistant.
func (s *Server) run(ctx context.Context, inputs []string, command ...string) (string, error) {
	paths, err := s.files.resolve(inputs)
	if err != nil {
		return "", err
	}
	return s.execute(ctx, append(append(command, "--"), paths...))
}

func rows(top, n int) string {
	if top <= 0 {
		top = n
	}
	return "-top=" + strconv.Itoa(top)
}

type inputsArgs struct {
	Inputs []string `json:"inputs" jsonschema:"files or directories of one run, absolute or below a server directory"`
}

type tableArgs struct {
	Inputs  []string          `json:"inputs" jsonschema:"files or directories of one run"`
	Section string            `json:"section,omitempty" jsonschema:"findings, operations, devices, balance, communication, memory, slowest, errors, idle, launches, critical_path, sequences, steps, phases, engines or operators; operations by default"`
	By      string            `json:"by,omitempty" jsonschema:"keys to group by, separated by commas: operation, kind, device, rank, stream, shape, step, root, service, trace, path, module, operator, phase, error, model, route, tenant, attr:NAME"`
	Where   map[string]string `json:"where,omitempty" jsonschema:"only operations with these values of keys, such as {\"device\": \"gpu:0\"}"`
	Top     int               `json:"top,omitempty" jsonschema:"how many rows, 20 by default"`
}

func (s *Server) table(ctx context.Context, in tableArgs) (string, error) {
	command := []string{"report", "-section=" + cmp.Or(in.Section, "operations"), "-by=" + in.By, rows(in.Top, 20)}
	for _, name := range slices.Sorted(maps.Keys(in.Where)) {
		command = append(command, "-where="+name+"="+in.Where[name])
	}
	return s.run(ctx, in.Inputs, command...)
}

type operationArgs struct {
	Inputs []string `json:"inputs" jsonschema:"files or directories of one run"`
	Name   string   `json:"name" jsonschema:"the name of an operation, or a part of it that only its name has"`
}

func (s *Server) operation(ctx context.Context, in operationArgs) (string, error) {
	report, err := s.run(ctx, in.Inputs, "report", "-json")
	if err != nil {
		return "", err
	}
	var all analyze.Report
	if err := json.Unmarshal([]byte(report), &all); err != nil {
		return "", err
	}
	name, err := nameOf(&all, in.Name)
	if err != nil {
		return "", err
	}
	tables, err := s.run(ctx, in.Inputs, "report", "-section=operations,slowest", "-by=device,shape", "-top=10",
		"-where=operation="+name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(name + "\n\n" + tables)
	for _, f := range all.Findings {
		if f.Where.Operation == name {
			fmt.Fprintf(&b, "\nOf the whole run: %s\n", f.Text)
		}
	}
	for _, p := range all.PathOperations {
		if p.Operation == name {
			fmt.Fprintf(&b, "\nOf the whole run: %s of the critical paths, %s.\n", units.Duration(p.TimeNS),
				units.Percent(p.Share))
		}
	}
	return b.String(), nil
}

// nameOf returns the operation called name, or the only one with name in its own.
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
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("%d operations have %q in their names; choose one of %q", len(found), name, shown(found))
	case len(names) == 0:
		return "", errors.New("there are no operations in the input")
	}
	return "", fmt.Errorf("no operation has the name %q; the largest are %q", name, shown(names))
}

func shown(names []string) []string {
	const most, width = 10, 200
	names = slices.Clone(names[:min(len(names), most)])
	for i, name := range names {
		names[i] = termtext.Shorten(name, width)
	}
	return names
}

type requestArgs struct {
	Inputs  []string `json:"inputs" jsonschema:"files or directories of one run, with the spans of the requests"`
	TraceID string   `json:"trace_id,omitempty" jsonschema:"only the requests of this trace, 32 hexadecimal digits"`
	Top     int      `json:"top,omitempty" jsonschema:"how many requests, 5 by default"`
}

func (s *Server) request(ctx context.Context, in requestArgs) (string, error) {
	return s.run(ctx, in.Inputs, "correlate", "-trace="+in.TraceID, rows(in.Top, 5))
}

type whatifArgs struct {
	Inputs  []string `json:"inputs" jsonschema:"files or directories of one run"`
	Changes []string `json:"changes" jsonschema:"changes such as 0.5x matmul, remove relu, nowait cudaStreamSynchronize, rate=25GB/s NAME, overlap kind=collective, balance device=*, host 0.5x"`
}

func (s *Server) whatif(ctx context.Context, in whatifArgs) (string, error) {
	command := []string{"whatif"}
	for _, change := range in.Changes {
		command = append(command, "-change="+change)
	}
	return s.run(ctx, in.Inputs, command...)
}

type compareArgs struct {
	Base []string `json:"base" jsonschema:"runs before, each a file or directory"`
	Head []string `json:"head" jsonschema:"runs after, each a file or directory"`
	By   string   `json:"by,omitempty" jsonschema:"keys to group by instead of operations, separated by commas"`
}

func (s *Server) compare(ctx context.Context, in compareArgs) (string, error) {
	if len(in.Base) == 0 || len(in.Head) == 0 {
		return "", fmt.Errorf("base and head must both name a run; %s", s.files.list())
	}
	paths, err := s.files.resolve(slices.Concat(in.Base, in.Head))
	if err != nil {
		return "", err
	}
	command := append([]string{"diff", "-by=" + in.By, "-top=15"}, paths[:len(in.Base)]...)
	return s.execute(ctx, append(append(command, "--"), paths[len(in.Base):]...))
}
