package main

import (
	"bufio"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/program"
)

// recording writes lines of entries. Times are in units of 10 ns; parent 0 means no parent.
type recording struct {
	*bufio.Writer
	i, n int // the line's number, and how many there are
}

const (
	span      = `{"span":{"name":%q`
	operation = `{"operation":%q,"device_id":"cuda:0"`
	hostCall  = `{"call":{"operation":%q`
)

// add writes a span or an operation with further JSON members; # becomes the number of the line.
func (l *recording) add(kind, name string, trace, id, parent, start, duration int, more ...string) {
	text := fmt.Sprintf(kind+`,"trace_id":"%032x","span_id":"%016x"`, name, trace, id)
	if parent != 0 {
		text += fmt.Sprintf(`,"parent_span_id":"%016x"`, parent)
	}
	text += fmt.Sprintf(`,"start_unix_ns":%d,"duration_ns":%d`, 1e18+10*start, 10*duration)
	for _, m := range more {
		text += "," + strings.ReplaceAll(m, "#", strconv.Itoa(l.i))
	}
	_, _ = l.WriteString(text + strings.Repeat("}", strings.Count(kind, "{")) + "\n")
}

// request writes a trace with an operation in a span, with links to spans of other requests.
func (l *recording) request(name string, start, duration int, to ...int) {
	l.add(span, name, l.i+2, 1, 0, start, duration, links(1, to...))
	l.add(operation, "m", l.i+2, 2, 1, start+1, max(1, min(8, duration-2)))
}

// links returns the member with links to spans in the traces of other requests.
func links(id int, to ...int) string {
	var list []string
	for _, i := range to {
		list = append(list, fmt.Sprintf(`{"trace_id":"%032x","span_id":"%016x"}`, i+2, id))
	}
	return `"links":[` + strings.Join(list, ",") + "]"
}

// members are dimensions with consecutive operations of one request, each with a distinct value of a member.
var members = map[string]string{
	"names": `"operation":"op#"`, "devices": `"device_id":"d#"`, "ranks": `"rank":#`, "services": `"service":"s#"`,
	"streams": `"stream":#,"launch_unix_ns":1#`, "steps": `"step":#`, "phases": `"phase":"p#","step":#`,
	"errors": `"error":"failed #"`,
	"shapes": `"output_shape":[#,4],"memory_bytes":4000000`, "paths": `"path":"model/layer#/attention"`,
	"copies": `"kind":"memory"`,
	"roots":  `"root":"GET /#","root_span_id":"000000000000000#"`, "attributes": `"attrs":{"key#":#}`,
	"operations": `"flops":1`,
	"events":     `"extra":{"events":[{"name":"e#","ts_unix_ns":1}]}`,
	"graphs":     `"attrs":{"graph id":#,"graph node id":1}`,
	"launchers":  `"launched_by":"aten::#"`,
	"groups": `"kind":"collective","collective":{"name":"all_reduce","group":"g#","group_size":2,` +
		`"sequence":1}`,
	"collectives":      `"kind":"collective","collective":{"name":"all_reduce","group":"g","group_size":2,"sequence":#}`,
	"collective ranks": `"kind":"collective","rank":#,"collective":{"name":"all_reduce","group":"g","sequence":1}`,
}

// dimensions are further dimensions: each writes part i of n.
var dimensions = map[string]func(l *recording, i, n int){
	"requests":             func(l *recording, i, _ int) { l.request("GET", 10*i, 9) },
	"request names":        func(l *recording, i, _ int) { l.request(fmt.Sprint("GET /", i), 10*i, 9) },
	"overlapping requests": func(l *recording, i, n int) { l.request(fmt.Sprint("GET /", i), i, 100*n+i%7) },
	"spans":                func(l *recording, i, _ int) { l.add(span, fmt.Sprint("f", i), 1, i+1, min(i, 1), 9*i, 8) },
	"roots of a trace":     func(l *recording, i, _ int) { l.add(operation, "m", 1, i+1, 0, 10*i, 9) },
	"overlap":              func(l *recording, i, n int) { l.add(operation, "m", 1, i+1, 0, i, n) },
	"nested overlap":       func(l *recording, i, n int) { l.add(operation, "m", 1, i+1, 0, i, 3*n-2*i) },
	"same time":            func(l *recording, i, _ int) { l.add(operation, "m", 1, i+1, 0, 5, 10) },
	"no duration":          func(l *recording, i, _ int) { l.add(operation, "m", 1, i+1, 0, i, 0) },
	"overlapping devices":  func(l *recording, i, n int) { l.add(operation, "m", 1, i+1, 0, i, n, `"device_id":"d#"`) },
	"overlapping steps":    func(l *recording, i, n int) { l.add(operation, "m", 1, i+1, 0, i, n, `"step":#`) },
	"duplicates":           func(l *recording, i, _ int) { l.add(operation, "m", 1, i/2+1, 0, i/2, 10) },
	"unknown parents":      func(l *recording, i, _ int) { l.add(operation, "m", 1, i+2, i+1<<30, 10*i, 9) },
	"rings of parents":     func(l *recording, i, n int) { l.add(operation, "m", 1, i+1, (i+1)%n+1, 10*i, 9) },
	"depth of operations":  func(l *recording, i, n int) { l.add(operation, "m", 1, i+1, i, i, 4*n-2*i) },
	"damaged lines":        func(l *recording, i, _ int) { fmt.Fprintf(l, "{\"operation\":%d\n", i) },
	"patterns": func(l *recording, i, _ int) {
		l.add(operation, fmt.Sprint("k", i*i*7919>>7%13%5), 1, i+1, 0, 10*i, 8)
	},
	"depth of spans": func(l *recording, i, n int) {
		l.add(span, fmt.Sprint("f", i), 1, i+1, i, i, 4*n-2*i)
		l.add(operation, "m", 1, i+1<<30, i+1, i, 1)
	},
	"depth of operators": func(l *recording, i, n int) {
		l.add(operation, "aten::f#", 1, i+1, i, i, 40*n, `"side":"host"`)
		l.add(operation, "k", 1, i+1<<30, i+1, 10*i, 8)
	},
	"gaps": func(l *recording, i, _ int) {
		l.add(span, fmt.Sprint("load", i), 1, 2*i+1, 0, 40*i+10, 25)
		l.add(operation, "m", 1, 2*i+2, 0, 40*i, 10)
	},
	"long names": func(l *recording, i, _ int) {
		l.add(operation, strings.Repeat("x", 300)+strconv.Itoa(i), 1, i+1, 0, 10*i, 8, `"flops":9,"output_shape":[4]`)
	},
	"gaps with host operations": func(l *recording, i, _ int) {
		l.add(operation, fmt.Sprint("load", i), 1, 2*i+1, 0, 40*i+10, 25, `"side":"host"`)
		l.add(operation, "m", 1, 2*i+2, 0, 40*i, 10)
	},
	"devices of a host": func(l *recording, i, n int) {
		l.add(operation, fmt.Sprint("load", i), 1, 3*i+1, 0, 20*i+10, 5, `"side":"host"`)
		l.add(hostCall, "cudaStreamSynchronize", 1, 3*i+1, 0, 20*i+15, 3)
		for k := range 2 {
			l.add(operation, "m", 1, 3*i+2+k, 0, 20*(i+k*n), 10, `"device_id":"d#"`)
		}
	},
	"ranks beside a host": func(l *recording, i, n int) {
		l.add(span, "load", 1, 3*i+1, 0, 20*i+10, 5)
		l.add(hostCall, fmt.Sprint("call", i), 1, 3*i+1, 0, 20*i+15, 3, `"rank":#`)
		for k := range 2 {
			l.add(operation, fmt.Sprint("m", i), 1, 3*i+2+k, 0, 20*(i+k*n), 10, `"rank":#`)
		}
	},
	"operators": func(l *recording, i, _ int) {
		l.add(operation, fmt.Sprint("f", i), 1, 2*i+1, 0, 40*i, 25, `"side":"host"`)
		l.add(operation, fmt.Sprint("k", i), 1, 2*i+2, 2*i+1, 40*i+5, 30)
	},
	"requests in the first and last step": func(l *recording, i, n int) {
		var all []int
		if i == 0 || i == n-1 {
			for j := range n {
				all = append(all, j)
			}
		}
		l.add(span, "GET", i+2, 2, 0, i, 20*n)
		l.add(span, "step", i+2, 1, 0, 2*n+10*i, 8, links(2, append(all, 0)...))
		l.add(operation, "m", i+2, 3, 1, 2*n+10*i+1, 6)
	},
	"linked steps":           func(l *recording, i, _ int) { l.request("step", 10*i, 9, max(0, i-1)) },
	"linked forward":         func(l *recording, i, n int) { l.request("step", 10*i, 9, min(i+1, n-1)) },
	"linked, overlapping":    func(l *recording, i, n int) { l.request("step", i, n, max(0, i-1)) },
	"linked, nested":         func(l *recording, i, n int) { l.request("step", i, 3*n-2*i, max(0, i-1)) },
	"linked, not in order":   func(l *recording, i, n int) { l.request("step", 10*(i*7919%n), n, max(0, i-1)) },
	"rings of links":         func(l *recording, i, n int) { l.request("step", 10*i, 9, (i+1)%n) },
	"links to one":           func(l *recording, i, n int) { l.request("step", i, n, 0) },
	"links to unknown spans": func(l *recording, i, _ int) { l.request("step", 10*i, 9, i+1<<30) },
	"steps that pass on": func(l *recording, i, n int) {
		l.request("step", i, 100*n, []int{i - 1, max(0, i-2), i - n/2}[:max(0, 4*i/n)]...)
	},
	"batches": func(l *recording, i, _ int) {
		l.request("step", 10*i, 100, i-i%2, max(0, i-2), max(0, i-4), max(0, i-6))
	},
	"batches of thousands": func(l *recording, i, _ int) {
		var all []int
		for j := range 4000 * (i % 4001 / 4000) {
			all = append(all, i-1-j)
		}
		l.request("GET", 10*i, 100, all...)
	},
	"nested linked steps": func(l *recording, i, n int) {
		l.add(span, "POST", i+2, 1, 0, i, 4*n-2*i)
		l.add(span, "step", 1, i+1, i, i, 4*n-2*i, links(1, i))
		l.add(operation, "m", 1, i+1<<30, i+1, i, 1)
	},
	"attributes of a resource": func(l *recording, i, n int) {
		if i == 0 {
			_, _ = l.WriteString(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name",` +
				`"value":{"stringValue":"m"}}`)
		}
		fmt.Fprintf(l, `,{"key":"key%d","value":{"intValue":"%[1]d"}}`, i)
		if i == n-1 {
			_, _ = l.WriteString(`]},"scopeSpans":[{"spans":[{"traceId":"00000000000000000000000000000001",` +
				`"spanId":"0000000000000001",` +
				`"name":"m","attributes":[{"key":"tensor.op.name","value":{"stringValue":"m"}}]}]}]}]}` + "\n")
		}
	},
}

// alone ends the names of dimensions of members without a request.
const alone = " alone"

func record(t *testing.T, path, dimension string, n int) {
	t.Helper()
	f := check.Must(os.Create(path))(t)
	l := recording{Writer: bufio.NewWriter(f), n: n}
	member, isAlone := strings.CutSuffix(dimension, alone)
	for l.i = range n {
		switch write := dimensions[dimension]; {
		case write != nil:
			write(&l, l.i, n)
		case l.i == 0 && !isAlone:
			l.add(span, "run", 1, 1, 0, 0, 10*n)
		case isAlone:
			l.add(operation, "m", 1, l.i+1, 0, 10*l.i, 8, members[member])
		default:
			l.add(operation, "m", 1, l.i+1, 1, 10*l.i, 8, members[member])
		}
	}
	check.OK(t, l.Flush())
	check.OK(t, f.Close())
}

// doublingCommands has the arguments before the recording.
var doublingCommands = map[string][]string{
	"report": {"report", "-section", "all"}, "json": {"report", "-json", "-by", "device,request,step,operator"},
	"doctor": {"doctor"}, "whatif": {"whatif"}, "correlate": {"correlate", "-json"},
	"page": {"report", "-html", "page.html"}, "diff": {"diff", "recording"}, "serve": nil,
}

// cost is the processor time and memory of a command.
type cost struct {
	cpu      time.Duration
	resident int64
}

// costOf returns the least cost of some runs of a command on a recording of n parts.
func costOf(t *testing.T, optrace, command, dimension string, n, runs int) (least cost) {
	t.Helper()
	dir := t.TempDir()
	record(t, filepath.Join(dir, "recording"), dimension, n)
	for i := range runs {
		cmd := exec.CommandContext(t.Context(), optrace, append(slices.Clone(doublingCommands[command]), "-max-memory",
			"0", "recording")...)
		if cmd.Dir = dir; command == "serve" {
			cmd.Args = []string{optrace, "serve", "-listen", "127.0.0.1:0", "-otlp-http", "127.0.0.1:0", "-otlp-grpc",
				"-", "-window", "10000000", "-max-memory", "16G"}
			convert := exec.CommandContext(t.Context(), optrace, "convert", "-to", "otlp", "-max-memory", "0", "-o",
				"otlp", "recording")
			convert.Dir = dir
			check.OK(t, convert.Run())
			visit(t, cmd)
		} else if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 3 {
			t.Fatal(err)
		}
		s := cmd.ProcessState
		if cpu := s.UserTime() + s.SystemTime(); i == 0 || cpu < least.cpu {
			least = cost{cpu, s.SysUsage().(*syscall.Rusage).Maxrss << 10}
		}
	}
	return least
}

// visit runs serve until it has received the lines of a file and answered all requests for its page.
func visit(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	lines := bufio.NewReaderSize(check.Must(os.Open(filepath.Join(cmd.Dir, "otlp")))(t), 1<<20)
	out := bufio.NewReader(check.Must(cmd.StdoutPipe())(t))
	check.OK(t, cmd.Start())
	defer http.DefaultClient.CloseIdleConnections()
	_, page, _ := strings.Cut(check.Must(out.ReadString('\n'))(t), " ")
	_, receiver, _ := strings.Cut(check.Must(out.ReadString('\n'))(t), " ")
	for line, err := lines.ReadString('\n'); err == nil; line, err = lines.ReadString('\n') {
		answer := check.Must(http.Post(strings.TrimSpace(receiver), "application/json", strings.NewReader(line)))(t)
		check.Equal(t, "status", http.StatusOK, answer.StatusCode)
		check.OK(t, answer.Body.Close())
	}
	for _, path := range []string{"", "data", "?format=json", "?format=text&section=all", "?format=pprof",
		"trace.json"} {
		fetchText(t, strings.TrimSpace(page)+path)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	check.OK(t, cmd.Wait())
}

// No command takes more than twice the time or the memory for twice as much of anything, apart from constant costs and
// sorting. Short times, less than 256 MiB, and a single slow size on a busy machine do not count.
func TestDoublingTakesTwiceTheTime(t *testing.T) {
	cases.NotUnderRace(t, "measures time")
	const most, largest = 2.6, 1 << 18
	enough := 100 * time.Millisecond
	if cases.All() {
		enough *= 5
	}
	optrace := program.Optrace(t, "../..")
	var all [][2]string
	for _, dimension := range slices.Concat(slices.Sorted(maps.Keys(dimensions)), slices.Sorted(maps.Keys(members))) {
		for _, command := range slices.Sorted(maps.Keys(doublingCommands)) {
			all = append(all, [2]string{command, dimension})
		}
	}
	for _, member := range slices.Sorted(maps.Keys(members)) {
		all = append(all, [2]string{"report", member + alone})
	}
	for c := range cases.Of(t, 2, all) {
		t.Run(c[0]+"/"+c[1], func(t *testing.T) {
			n := 2000
			one := costOf(t, optrace, c[0], c[1], n, 1)
			for ; n < largest && one.cpu < enough; n *= 2 {
				one = costOf(t, optrace, c[0], c[1], 2*n, 1)
			}
			for range 3 {
				if n >= largest {
					return
				}
				one = costOf(t, optrace, c[0], c[1], n, 2)
				two := costOf(t, optrace, c[0], c[1], 2*n, 2)
				times := float64(two.cpu) / float64(one.cpu)
				memory := float64(two.resident) / float64(one.resident)
				t.Logf("%d: %v, %d MiB; twice as many: %.2f times the time, %.2f times the memory", n, one.cpu,
					one.resident>>20, times, memory)
				if times <= most && (memory <= most || two.resident < 256<<20) {
					return
				}
				n *= 2
			}
			t.Errorf("not linear in any of three sizes up to %d", n)
		})
	}
}
