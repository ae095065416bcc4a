package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/doctor"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/model/kernelname"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
)

// run returns the output of a command for inputs named by an assistant.
func (s *Server) run(ctx context.Context, inputs []string, command ...string) (*answer, error) {
	paths, err := s.files.resolve(inputs)
	if err != nil {
		return nil, err
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

func (s *Server) table(ctx context.Context, in tableArgs) (*answer, error) {
	section := cmp.Or(in.Section, "operations")
	command := []string{"report", "-section=" + section, "-by=" + in.By, rows(in.Top, 20)}
	for _, name := range slices.Sorted(maps.Keys(in.Where)) {
		value := in.Where[name]
		if name == "operation" || name == "operator" {
			if _, full, err := s.find(ctx, in.Inputs, value, "operations"); err == nil {
				value = full
			}
		}
		command = append(command, "-where="+name+"="+value)
	}
	a, err := s.run(ctx, in.Inputs, command...)
	return a.only(append(strings.Split(section, ","), "total", "groups")...), err
}

type operationArgs struct {
	Inputs []string `json:"inputs" jsonschema:"files or directories of one run"`
	Name   string   `json:"name" jsonschema:"the name of an operation, or a part of it that only its name has"`
}

func (s *Server) operation(ctx context.Context, in operationArgs) (*answer, error) {
	all, name, err := s.find(ctx, in.Inputs, in.Name, "all")
	if err != nil {
		return nil, err
	}
	a, err := s.run(ctx, in.Inputs, "report", "-section=operations,slowest", "-by=device,shape", "-top=10",
		"-where=operation="+name)
	if err != nil {
		return nil, err
	}
	stacks, err := s.stacks(ctx, in.Inputs, name)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(name + "\n\n" + a.text)
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
	b.WriteString("\nIts time on devices, by stack:\n" + stacks[:min(len(stacks), 5)].text())
	a.text = b.String()
	return a.only("total", "groups", "slowest"), nil
}

type stack struct {
	Frames []string `json:"frames"`
	SelfNS int64    `json:"self_ns"`
}

type stackList []stack

// stacks returns the stacks with an operation, the longest first.
func (s *Server) stacks(ctx context.Context, inputs []string, name string) (list stackList, err error) {
	a, err := s.run(ctx, inputs, "convert", "-to=collapsed")
	if err != nil {
		return nil, err
	}
	frame := stacks.Collapse(name)
	for line := range strings.Lines(a.text) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			continue
		}
		ns, _ := strconv.ParseInt(line[at+1:], 10, 64)
		if frames := strings.Split(line[:at], ";"); slices.Contains(frames, frame) {
			list = append(list, stack{frames, ns})
		}
	}
	slices.SortStableFunc(list, func(a, b stack) int { return cmp.Compare(b.SelfNS, a.SelfNS) })
	return list, nil
}

func (l stackList) text() string {
	var b strings.Builder
	if len(l) == 0 {
		b.WriteString("  no stack with time on a device has it\n")
	}
	for _, s := range l {
		names := make([]string, len(s.Frames))
		for i, name := range s.Frames {
			names[i] = kernelname.Short(name)
		}
		fmt.Fprintf(&b, "  %s  %s\n", units.Duration(s.SelfNS), strings.Join(names, " > "))
	}
	return b.String()
}

// stack answers with the stacks of an operation, and its modules and lines of code or how to record them.
func (s *Server) stack(ctx context.Context, in operationArgs) (*answer, error) {
	_, name, err := s.find(ctx, in.Inputs, in.Name, "operations")
	if err != nil {
		return nil, err
	}
	stacks, err := s.stacks(ctx, in.Inputs, name)
	if err != nil {
		return nil, err
	}
	by, err := s.run(ctx, in.Inputs, "report", "-section=operations", "-where=operation="+name,
		"-by=path,attr:code.file.path,attr:code.line.number")
	if err != nil {
		return nil, err
	}
	var code []string
	for _, g := range by.found.(*analyze.Report).Groups {
		known := []string{units.Duration(g.SumNS)}
		for _, v := range g.Key.Values {
			if text := v.String(); text != key.Unknown {
				known = append(known, termtext.Escape(text))
			}
		}
		if len(known) > 1 && len(code) < 20 {
			code = append(code, strings.Join(known, "  "))
		}
	}
	a := &answer{name + "\n\n" + stacks.text(), map[string]any{"stacks": stacks, "code": code}}
	if code != nil {
		a.text += "\nIts time by module and code:\n  " + strings.Join(code, "\n  ") + "\n"
		return a, nil
	}
	lacks, err := s.run(ctx, in.Inputs, "doctor")
	if err != nil {
		return nil, err
	}
	record := cmp.Or(lacks.found.(*doctor.Report).Record, "span attributes code.file.path and code.line.number")
	a.found = map[string]any{"stacks": stacks, "record": record}
	a.text += "\nNo module or line of code of it is recorded. Record with " + record + "\n"
	return a, nil
}

// find returns a section of the report of the whole run, and the full name of the operation called name.
func (s *Server) find(ctx context.Context, inputs []string, name, section string) (*analyze.Report, string, error) {
	a, err := s.run(ctx, inputs, "report", "-section="+section)
	if err != nil {
		return nil, "", err
	}
	all := a.found.(*analyze.Report)
	name, err = nameOf(all, name)
	return all, name, err
}

// printed reports whether a table prints a full name as name.
func printed(full, name string) bool {
	short := kernelname.Short(full)
	if begin, end, cut := strings.Cut(name, "…"); cut {
		return strings.HasPrefix(short, begin) && strings.HasSuffix(short, end) ||
			strings.HasPrefix(full, begin) && strings.HasSuffix(full, end)
	}
	return short == name || kernelname.Long(full) == name
}

// nameOf returns the operation called name or printed so, or else the only one with name in its own.
func nameOf(r *analyze.Report, name string) (string, error) {
	var exact, found, names []string
	for _, row := range r.Operations {
		if row.Operation == name {
			return name, nil
		}
		switch {
		case name == "":
		case printed(row.Operation, name):
			exact = append(exact, row.Operation)
		case strings.Contains(strings.ToLower(row.Operation), strings.ToLower(name)):
			found = append(found, row.Operation)
		}
		names = append(names, row.Operation)
	}
	if found = slices.Compact(found); exact != nil {
		found = slices.Compact(exact)
	}
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
	Section string   `json:"section,omitempty" jsonschema:"blame for who delayed whom, or findings, endpoints, engines, critical_path, requests, shared, unattached; all by default"`
	Top     int      `json:"top,omitempty" jsonschema:"how many requests, 5 by default"`
}

func (s *Server) request(ctx context.Context, in requestArgs) (*answer, error) {
	section := cmp.Or(in.Section, "all")
	return s.run(ctx, in.Inputs, "correlate", "-section="+section, "-trace="+in.TraceID, rows(in.Top, 5))
}

type whatifArgs struct {
	Inputs  []string `json:"inputs" jsonschema:"files or directories of one run"`
	Changes []string `json:"changes" jsonschema:"changes such as 0.5x matmul, remove relu, nowait cudaStreamSynchronize, rate=25GB/s NAME, overlap kind=collective, balance device=*, host 0.5x"`
}

func (s *Server) whatif(ctx context.Context, in whatifArgs) (*answer, error) {
	command := []string{"whatif"}
	for _, change := range in.Changes {
		what, name, _ := strings.Cut(change, " ")
		if strings.ContainsAny(name, "<…") { // as a table prints it
			if _, full, err := s.find(ctx, in.Inputs, name, "operations"); err == nil {
				change = what + " " + full
			}
		}
		command = append(command, "-change="+change)
	}
	return s.run(ctx, in.Inputs, command...)
}

type filesArgs struct {
	Part string `json:"part,omitempty" jsonschema:"only files with this part in their paths"`
}

// list answers with the files below the directories.
func (s *Server) list(_ context.Context, in filesArgs) (*answer, error) {
	type file struct {
		Path   string `json:"path"`
		Bytes  int64  `json:"bytes"`
		Format string `json:"format"`
	}
	var b strings.Builder
	paths, more := s.files.paths(in.Part, 100)
	files := make([]file, len(paths))
	for i, path := range paths {
		f := file{Path: path}
		var err error
		if f.Format, err = (ingest.Options{FS: s.files}).FormatOf(path); err != nil || f.Format == "" {
			f.Format = "no input"
		}
		if info, err := s.files.Stat(path); err == nil {
			f.Bytes = info.Size()
		}
		files[i] = f
		fmt.Fprintf(&b, "%s  %s  %s\n", termtext.Escape(path), units.Bytes(f.Bytes), f.Format)
	}
	if more {
		b.WriteString("… and more\n")
	}
	return &answer{b.String(), map[string]any{"files": files}}, nil
}

type compareArgs struct {
	Base []string `json:"base" jsonschema:"runs before, each a file or directory"`
	Head []string `json:"head" jsonschema:"runs after, each a file or directory"`
	By   string   `json:"by,omitempty" jsonschema:"keys to group by instead of operations, separated by commas"`
}

func (s *Server) compare(ctx context.Context, in compareArgs) (*answer, error) {
	if len(in.Base) == 0 || len(in.Head) == 0 {
		return nil, fmt.Errorf("base and head must both name a run; %s", s.files.list())
	}
	paths, err := s.files.resolve(slices.Concat(in.Base, in.Head))
	if err != nil {
		return nil, err
	}
	command := append([]string{"diff", "-by=" + in.By, "-top=15"}, paths[:len(in.Base)]...)
	return s.execute(ctx, append(append(command, "--"), paths[len(in.Base):]...))
}
