package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/program"
)

// lines is a recording in the entries format. Times are in units of 10 ns, ids 0 are left out.
type lines struct {
	bufio.Writer
	begun bool
}

const span, operation = `{"span":{"name":"%s"`, `{"operation":"%s","device_id":"cuda:0"`

// add writes a span or an operation with further members of its object.
func (l *lines) add(kind, name string, trace, id, parent, start, duration int, more string) {
	fmt.Fprintf(l, kind+`,"trace_id":"%032x","span_id":"%016x"`, name, trace, id)
	if parent != 0 {
		fmt.Fprintf(l, `,"parent_span_id":"%016x"`, parent)
	}
	fmt.Fprintf(l, `,"start_unix_ns":%d,"duration_ns":%d%s}`, 1_783_000_000_000_000_000+10*start, 10*duration, more)
	l.WriteString(strings.Repeat("}", strings.Count(kind, "{")-1) + "\n")
}

// within writes the i-th of operations, one behind the other, within the span 1 of trace 1.
func (l *lines) within(i int, name, more string) {
	l.under(1, 1)
	l.add(operation, name, 1, i+2, 1, 10*i+1, 8, more)
}

// under writes the span 1 of a trace, if it is the first line.
func (l *lines) under(trace, n int) {
	if !l.begun {
		l.begun = true
		l.add(span, "run", trace, 1, 0, 0, 1<<28, "")
	}
}

// request writes a trace with a span that has a name, links and an operation.
func (l *lines) request(i int, name string, start, duration int, to ...int) {
	links := ""
	for _, j := range to {
		links += fmt.Sprintf(`,{"trace_id":"%032x","span_id":"%016x"}`, j+2, 1)
	}
	if links != "" {
		links = `,"links":[` + links[1:] + `]`
	}
	l.add(span, name, i+2, 1, 0, start, duration, links)
	l.add(operation, "m", i+2, 2, 1, start+1, max(1, min(8, duration-2)), "")
}

// dimensions are what recordings have more and more of: each writes the i-th of n.
var dimensions = map[string]func(l *lines, i, n int){
	"operations": func(l *lines, i, _ int) { l.within(i, "m", "") },
	"names":      func(l *lines, i, _ int) { l.within(i, fmt.Sprint("op", i), "") },
	"names of requests": func(l *lines, i, _ int) {
		l.request(i, fmt.Sprint("GET /", i), 10*i, 9)
	},
	"overlapping names of requests": func(l *lines, i, n int) { l.request(i, fmt.Sprint("GET /", i), i, 100*n) },
	"names of spans": func(l *lines, i, _ int) {
		l.under(1, 1)
		l.add(span, fmt.Sprint("layer", i), 1, 2*i+2, 1, 20*i, 18, "")
		l.add(operation, "m", 1, 2*i+3, 2*i+2, 20*i+5, 8, "")
	},
	"traces":             func(l *lines, i, _ int) { l.request(i, "GET", 10*i, 9) },
	"overlapping traces": func(l *lines, i, n int) { l.request(i, "GET", i, n+i%7) },
	"roots of a trace":   func(l *lines, i, _ int) { l.add(operation, "m", 1, i+1, 0, 10*i, 9, "") },
	"roots by name": func(l *lines, i, _ int) {
		l.add(operation, "m", i+1, 2, 1, 10*i, 9, fmt.Sprintf(`,"root":"GET /%d","root_span_id":"%016x"`, i, 1))
	},
	"devices": func(l *lines, i, _ int) { l.within(i, "m", fmt.Sprintf(`,"device_id":"d%d"`, i)) },
	"overlapping devices": func(l *lines, i, n int) {
		l.under(1, 1)
		l.add(operation, "m", 1, i+2, 1, i, n, fmt.Sprintf(`,"device_id":"d%d"`, i))
	},
	"ranks":    func(l *lines, i, _ int) { l.within(i, "m", fmt.Sprintf(`,"rank":%d`, i)) },
	"services": func(l *lines, i, _ int) { l.within(i, "m", fmt.Sprintf(`,"service":"s%d"`, i)) },
	"streams":  func(l *lines, i, _ int) { l.within(i, "m", fmt.Sprintf(`,"stream":%d`, i)) },
	"launches of streams": func(l *lines, i, _ int) {
		l.within(i, "m", fmt.Sprintf(`,"stream":%d,"launch_unix_ns":%d`, i, 1_783_000_000_000_000_000+100*i))
	},
	"steps": func(l *lines, i, _ int) { l.within(i, "m", fmt.Sprintf(`,"step":%d`, i)) },
	"steps of several loops": func(l *lines, i, n int) {
		l.add(operation, "m", i%7+1, i+2, 0, 10*i, 40, fmt.Sprintf(`,"step":%d,"service":"s%d"`, i/7%100, i%3))
	},
	"overlapping steps": func(l *lines, i, n int) {
		l.under(1, 1)
		l.add(operation, "m", 1, i+2, 1, i, n, fmt.Sprintf(`,"step":%d`, i))
	},
	"phases": func(l *lines, i, _ int) { l.within(i, "m", fmt.Sprintf(`,"phase":"p%d","step":%d`, i, i/4)) },
	"shapes": func(l *lines, i, _ int) {
		l.within(i, "m", fmt.Sprintf(`,"output_shape":[%d,4],"memory_bytes":4000000`, i))
	},
	"paths":                   func(l *lines, i, _ int) { l.within(i, "m", fmt.Sprintf(`,"path":"model/layer%d/attention"`, i)) },
	"overlap":                 func(l *lines, i, n int) { l.under(1, 1); l.add(operation, "m", 1, i+2, 1, i, n, "") },
	"nested overlap":          func(l *lines, i, n int) { l.under(1, 1); l.add(operation, "m", 1, i+2, 1, i, 3*n-2*i, "") },
	"overlap without parents": func(l *lines, i, n int) { l.add(operation, "m", 1, i+2, 0, i, n, "") },
	"same time":               func(l *lines, i, n int) { l.under(1, 1); l.add(operation, "m", 1, i+2, 1, 5, 10, "") },
	"no duration":             func(l *lines, i, n int) { l.under(1, 1); l.add(operation, "m", 1, i+2, 1, i, 0, "") },
	"depth of spans": func(l *lines, i, n int) {
		l.add(span, "f", 1, i+1, i, i, 4*n-2*i, "")
		l.add(operation, "m", 1, i+1<<30, i+1, i, 1, "")
	},
	"depth of operations": func(l *lines, i, n int) { l.add(operation, "m", 1, i+1, i, i, 4*n-2*i, "") },
	"depth of names": func(l *lines, i, n int) {
		l.add(span, fmt.Sprint("f", i), 1, i+1, i, i, 4*n-2*i, "")
		l.add(operation, "m", 1, i+1<<30, i+1, i, 1, "")
	},
	"gaps": func(l *lines, i, _ int) {
		l.under(1, 1)
		l.add(span, fmt.Sprint("load", i%100), 1, 2*i+2, 1, 40*i+10, 25, "")
		l.add(operation, "m", 1, 2*i+3, 1, 40*i, 10, "")
	},
	"gaps in many requests": func(l *lines, i, n int) { l.request(i, fmt.Sprint("GET /", i%10), 40*i, n) },
	"host operations in a gap": func(l *lines, i, n int) {
		l.under(1, 1)
		l.add(operation, fmt.Sprint("h", i), 1, i+2, 1, i, 4*n-2*i, `,"side":"host","device_id":null`)
		if i == 0 || i == n-1 {
			l.add(operation, "m", 1, i+1<<30, 1, 4*n+100*i, 20, "")
		}
	},
	"operators": func(l *lines, i, _ int) {
		l.within(2*i, fmt.Sprint("aten::", i), `,"side":"host"`)
		l.within(2*i+1, "k", fmt.Sprintf(`,"launch_unix_ns":%d`, 1_783_000_000_000_000_000+200*i+15))
	},
	"depth of operators": func(l *lines, i, n int) {
		l.add(operation, fmt.Sprint("aten::", i), 1, i+1, i, i, 4*n-2*i, `,"side":"host"`)
		l.add(operation, "k", 1, i+1<<30, 0, 4*n+10*i, 8, fmt.Sprintf(`,"launch_unix_ns":%d`, 1_783_000_000_000_000_000+10*i+5))
	},
	"errors":                 func(l *lines, i, _ int) { l.within(i, "m", fmt.Sprintf(`,"error":"failed %d"`, i)) },
	"lines that are damaged": func(l *lines, i, _ int) { l.within(i, "m", ""); fmt.Fprintf(l, "{\"operation\":%d\n", i) },
	"duplicates":             func(l *lines, i, _ int) { l.within(i/2, "m", "") },
	"unknown parents":        func(l *lines, i, _ int) { l.add(operation, "m", 1, i+2, i+1<<30, 10*i, 9, "") },
	"rings of parents":       func(l *lines, i, n int) { l.add(operation, "m", 1, i+2, (i+1)%n+2, 10*i, 9, "") },
	"collectives": func(l *lines, i, _ int) {
		l.under(1, 1)
		l.add(operation, "allreduce", 1, i+2, 1, 20*(i/2)+i%2, 9,
			fmt.Sprintf(`,"kind":"collective","rank":%d,"collective":{"name":"all_reduce","group":"g","group_size":2,"sequence":%d}`, i%2, i/2))
	},
	"groups of collectives": func(l *lines, i, _ int) {
		l.within(i, "allreduce", fmt.Sprintf(
			`,"kind":"collective","rank":%d,"collective":{"name":"all_reduce","group":"g%d","group_size":2,"sequence":1}`, i%2, i/2))
	},
	"ranks of a collective": func(l *lines, i, n int) {
		l.within(i, "allreduce", fmt.Sprintf(
			`,"kind":"collective","rank":%d,"collective":{"name":"all_reduce","group":"g","group_size":%d,"sequence":1}`, i, n))
	},
	"collectives without numbers": func(l *lines, i, _ int) {
		l.under(1, 1)
		l.add(operation, "allreduce", 1, i+2, 1, 20*(i/4)+i%4, 9, fmt.Sprintf(`,"kind":"collective","rank":%d`, i%4))
	},
	"copies": func(l *lines, i, _ int) {
		l.within(i, fmt.Sprint("copy HtoD", i), `,"kind":"memory","memory_bytes":1000`)
	},
	"patterns":                    func(l *lines, i, _ int) { l.within(i, fmt.Sprint("k", i*i%97%11), "") },
	"patterns that do not repeat": func(l *lines, i, _ int) { l.within(i, fmt.Sprint("k", i*i*7919>>7%13%5), "") },
	"one operation and another":   func(l *lines, i, n int) { l.within(i, fmt.Sprint("k", i*2/n), "") },
	"attributes of operations":    func(l *lines, i, _ int) { l.within(i, "m", fmt.Sprintf(`,"attrs":{"key%d":%d}`, i, i)) },
	"events": func(l *lines, i, _ int) {
		l.within(i, "m", fmt.Sprintf(`,"extra":{"events":[{"name":"e%d","ts_unix_ns":1}]}`, i))
	},
	"linked steps":                  func(l *lines, i, _ int) { l.request(i, "step", 10*i, 9, max(0, i-1)) },
	"linked steps, forward":         func(l *lines, i, n int) { l.request(i, "step", 10*i, 9, min(i+1, n-1)) },
	"linked steps, overlapping":     func(l *lines, i, n int) { l.request(i, "step", i, n, max(0, i-1)) },
	"linked steps, nested":          func(l *lines, i, n int) { l.request(i, "step", i, 3*n-2*i, max(0, i-1)) },
	"linked steps, nested, forward": func(l *lines, i, n int) { l.request(i, "step", i, 3*n-2*i, min(i+1, n-1)) },
	"linked steps, not in order":    func(l *lines, i, n int) { l.request(i, "step", 10*(i*7919%n), n, max(0, i-1)) },
	"rings of links":                func(l *lines, i, n int) { l.request(i, "step", 10*i, 9, (i+1)%n) },
	"links to one":                  func(l *lines, i, n int) { l.request(i, "step", 10*i, 9, 0) },
	"overlapping links to one":      func(l *lines, i, n int) { l.request(i, "step", i, n, 0) },
	"links of one": func(l *lines, i, n int) {
		l.request(2*i, "GET", 10*i, 9+i%7)
		l.request(2*i+1, "step", 10*i+5, 2, slices.Repeat([]int{2 * i}, 3)...)
	},
	"batches": func(l *lines, i, n int) {
		l.request(2*i, "GET", 10*i, 100)
		to := make([]int, 16)
		for j := range to {
			to[j] = 2 * max(0, i-j)
		}
		l.request(2*i+1, "step", 10*i+5, 4, to...)
	},
	"batches of all": func(l *lines, i, n int) {
		l.request(i, "GET", 10*i, 100)
		if i%4000 == 3999 {
			to := make([]int, 4000)
			for j := range to {
				to[j] = i - j
			}
			l.request(i+1<<30, "step", 10*i+5, 4, to...)
		}
	},
	"batches that pass on": func(l *lines, i, n int) {
		if i < n/2 {
			l.request(i, "GET", i, 100*n)
		} else if to := []int{i - 1}; i%2 == 0 {
			l.request(i, "step", 10*i, 9, to...)
		} else {
			l.request(i, "step", 10*i, 9, max(0, i-2), i-n/2)
		}
	},
	"steps of links below spans": func(l *lines, i, n int) {
		l.under(1, 1)
		l.add(span, "step", 1, 2*i+2, 1, 10*i, 9, fmt.Sprintf(`,"links":[{"trace_id":"%032x","span_id":"%016x"}]`, 1, max(2, 2*i)))
		l.add(operation, "m", 1, 2*i+3, 2*i+2, 10*i+1, 7, "")
	},
	"links of nested spans": func(l *lines, i, n int) {
		l.add(span, "f", 2, i+1, i, i, 4*n-2*i, fmt.Sprintf(`,"links":[{"trace_id":"%032x","span_id":"%016x"}]`, 3, i+1))
		l.add(span, "g", 3, i+1, i, i, 4*n-2*i, "")
		l.add(operation, "m", 2, i+1<<30, i+1, i, 1, "")
	},
	"links to unknown spans": func(l *lines, i, n int) { l.request(i, "step", 10*i, 9, i+1<<30) },
	"attributes of a span, OTLP": func(l *lines, i, n int) {
		if i == 0 {
			l.WriteString(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"00000000000000000000000000000001","spanId":"0000000000000001",` +
				`"name":"m","startTimeUnixNano":"1783000000000000000","endTimeUnixNano":"1783000000000000900",` +
				`"attributes":[{"key":"tensor.op.name","value":{"stringValue":"m"}}`)
		}
		fmt.Fprintf(l, `,{"key":"key%d","value":{"intValue":"%[1]d"}}`, i)
		if i == n-1 {
			l.WriteString("]}]}]}]}\n")
		}
	},
	"attributes of a resource, OTLP": func(l *lines, i, n int) {
		if i == 0 {
			l.WriteString(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"m"}}`)
		}
		fmt.Fprintf(l, `,{"key":"key%d","value":{"intValue":"%[1]d"}}`, i)
		if i == n-1 {
			l.WriteString(`]},"scopeSpans":[{"spans":[{"traceId":"00000000000000000000000000000001","spanId":"0000000000000001",` +
				`"name":"m","startTimeUnixNano":"1783000000000000000","endTimeUnixNano":"1783000000000000900",` +
				`"attributes":[{"key":"tensor.op.name","value":{"stringValue":"m"}}]}]}]}]}` + "\n")
		}
	},
	"depth of modules, Kineto": func(l *lines, i, n int) {
		l.kineto(2*i, 2*n, "python_function", fmt.Sprintf("nn.Module: Block_%d", i), 1, i, 4*n-2*i, fmt.Sprintf(`"Python id":%d,"Python module id":%[1]d,"Python parent id":%d`, i+1, i))
		l.kineto(2*i+1, 2*n, "cpu_op", "aten::mm", 1, i, 1, `"External id":`+fmt.Sprint(i+1))
	},
	"depth of operators, Kineto": func(l *lines, i, n int) {
		l.kineto(i, n, "cpu_op", fmt.Sprintf("aten::op%d", i%50), 1, i, 4*n-2*i, `"External id":`+fmt.Sprint(i+1))
	},
	"operators, Kineto": func(l *lines, i, n int) {
		l.kineto(2*i, 2*n, "cpu_op", fmt.Sprintf("aten::op%d", i%50), 1, 4*i, 3, `"External id":`+fmt.Sprint(i+1))
		l.kineto(2*i+1, 2*n, "kernel", "k", 7, 4*i+2, 2, fmt.Sprintf(`"External id":%d,"stream":7,"device":0`, i+1))
	},
	"CUDA graphs, Kineto": func(l *lines, i, n int) {
		l.kineto(2*i, 2*n, "cuda_runtime", "cudaGraphLaunch", 1, 4*i, 1, fmt.Sprintf(`"correlation":%d`, i+1))
		l.kineto(2*i+1, 2*n, "kernel", fmt.Sprint("k", i%9), 7, 4*i+2, 2,
			fmt.Sprintf(`"correlation":%d,"stream":7,"device":0,"graph id":%d,"graph node id":%d`, i+1, i+1, i+1))
	},
	"graph nodes, Kineto": func(l *lines, i, n int) {
		l.kineto(2*i, 2*n, "cuda_runtime", "cudaLaunchKernel", 1, 4*i, 1, fmt.Sprintf(`"correlation":%d`, i/50+1))
		l.kineto(2*i+1, 2*n, "kernel", fmt.Sprint("k", i%9), 7, 4*i+2, 2,
			fmt.Sprintf(`"correlation":%d,"stream":7,"device":0,"graph id":%d,"graph node id":%d`, i/50+1, i/100+1, i+1))
	},
	"threads, Kineto": func(l *lines, i, n int) {
		l.kineto(i, n, "cpu_op", "aten::mm", i, 4*i, 3, `"External id":`+fmt.Sprint(i+1))
	},
}

// kineto writes the i-th of n events of a profile.
func (l *lines) kineto(i, n int, category, name string, tid, start, duration int, args string) {
	if i == 0 {
		l.WriteString(`{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H100"}],"traceEvents":[` + "\n")
	}
	fmt.Fprintf(l, `{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":%d,"ts":%d,"dur":%d,"args":{%s}}`, category, name, tid, start+1000, duration, args)
	l.WriteString(map[bool]string{true: "]}\n", false: ",\n"}[i == n-1])
}

func record(t *testing.T, path, dimension string, n int) {
	t.Helper()
	f := check.Must(os.Create(path))(t)
	l := lines{Writer: *bufio.NewWriter(f)}
	for i := range n {
		dimensions[dimension](&l, i, n)
	}
	check.OK(t, l.Flush())
	check.OK(t, f.Close())
}

var commandLines = map[string][]string{
	"report":    {"report", "-max-memory", "0", "-section", "all", "-o", os.DevNull},
	"overview":  {"report", "-max-memory", "0", "-o", os.DevNull},
	"json":      {"report", "-max-memory", "0", "-json", "-by", "device,root,step,operator", "-o", os.DevNull},
	"page":      {"report", "-max-memory", "0", "-html"},
	"correlate": {"correlate", "-max-memory", "0", "-json", "-o", os.DevNull},
	"diff":      {"diff", "-max-memory", "0", "-json"},
	"doctor":    {"doctor", "-max-memory", "0"},
	"serve":     nil,
	"pprof":     {"convert", "-max-memory", "0", "-to", "pprof", "-o", os.DevNull},
}

// cost is what a command took.
type cost struct {
	cpu      time.Duration
	resident int64
}

func costOf(t *testing.T, optrace, command, dir string) cost {
	t.Helper()
	path := filepath.Join(dir, "recording")
	if command == "serve" {
		return costOfServe(t, optrace, path)
	}
	args := slices.Clone(commandLines[command])
	switch command {
	case "page":
		args = append(args, filepath.Join(dir, "page.html"))
	case "diff":
		args = append(args, path)
	}
	cmd := exec.CommandContext(t.Context(), optrace, append(args, path)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("%v: %s", err, &stderr)
	}
	return costIn(cmd)
}

func costIn(cmd *exec.Cmd) cost {
	s := cmd.ProcessState
	return cost{s.UserTime() + s.SystemTime(), s.SysUsage().(*syscall.Rusage).Maxrss << 10}
}

func costOfServe(t *testing.T, optrace, path string) cost {
	t.Helper()
	check.Must(exec.CommandContext(t.Context(), optrace, "convert", "-max-memory", "0", "-to", "otlp", "-o", path+".otlp.jsonl", path).Output())(t)
	cmd := exec.CommandContext(t.Context(), optrace, "serve", "-listen", "127.0.0.1:0", "-otlp-http", "127.0.0.1:0", "-otlp-grpc", "-",
		"-window", "10000000", "-max-memory", "16G")
	out := check.Must(cmd.StdoutPipe())(t)
	check.OK(t, cmd.Start())
	defer http.DefaultClient.CloseIdleConnections()
	var page, receiver string
	for text := bufio.NewScanner(out); receiver == "" && text.Scan(); {
		switch kind, address, _ := strings.Cut(text.Text(), " "); kind {
		case "page":
			page = strings.TrimSpace(address)
		case "OTLP/HTTP":
			receiver = strings.TrimSpace(address)
		}
	}
	send := func(method, url string, body io.Reader) {
		r := check.Must(http.NewRequestWithContext(t.Context(), method, url, body))(t)
		r.Header.Set("Content-Type", "application/json")
		answer := check.Must(http.DefaultClient.Do(r))(t)
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 200))
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s: %.200s", url, answer.Status, said)
		}
	}
	otlp := check.Must(os.Open(path + ".otlp.jsonl"))(t)
	for all := bufio.NewReader(otlp); ; {
		line, err := all.ReadBytes('\n')
		if len(line) > 0 {
			send(http.MethodPost, receiver, bytes.NewReader(line))
		}
		if err != nil {
			break
		}
	}
	_ = otlp.Close()
	for _, path := range []string{"", "data", "?format=json", "?format=text&section=all", "?format=collapsed", "?format=pprof", "trace.json"} {
		send(http.MethodGet, page+path, nil)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	check.OK(t, cmd.Wait())
	return costIn(cmd)
}

func TestDoublingTable(t *testing.T) {
	optrace := program.Optrace(t, "../..")
	dims, cmds := slices.Sorted(maps.Keys(dimensions)), slices.Sorted(maps.Keys(commandLines))
	if d := os.Getenv("DIM"); d != "" {
		dims = strings.Split(d, ";")
	}
	if d := os.Getenv("CMD"); d != "" {
		cmds = strings.Split(d, ";")
	}
	least, err := time.ParseDuration(cmp.Or(os.Getenv("LEAST"), "400ms"))
	check.OK(t, err)
	for _, dim := range dims {
		for _, command := range cmds {
			dir := t.TempDir()
			var last cost
			for n := 1000; n <= 1<<18; n *= 2 {
				record(t, filepath.Join(dir, "recording"), dim, n)
				c := costOf(t, optrace, command, dir)
				ratio := float64(c.cpu) / float64(max(1, last.cpu))
				rss := float64(c.resident) / float64(max(1, last.resident))
				if last.cpu >= least || c.cpu > 8*time.Second || n*2 > 1<<18 {
					mark := ""
					if ratio > 2.6 {
						mark = "TIME"
					}
					if rss > 2.6 {
						mark += " RSS"
					}
					fmt.Printf("%-34s %-16s n=%7d cpu %8.2f x%5.2f rss %6d MB x%5.2f %s\n", dim, command, n, c.cpu.Seconds(), ratio, c.resident>>20, rss, mark)
					break
				}
				last = c
			}
		}
	}
}
