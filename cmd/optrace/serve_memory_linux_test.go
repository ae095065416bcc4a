package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

// crowds are operations with a distinct value each, its number in place of #: a name, and the key and value of an
// attribute in OTLP.
var crowds = map[string]struct {
	operations       int
	name, key, value string
}{
	"names":       {100_000, "operation 1#", "note", `"boolValue":true`},
	"2 KB names":  {100_000, "#" + strings.Repeat("x", 2<<10), "note", `"boolValue":true`},
	"16 KB names": {60_000, "#" + strings.Repeat("x", 16<<10), "note", `"boolValue":true`},
	"devices":     {100_000, "matmul", "tensor.device.id", `"stringValue":"gpu:#"`},
	"streams":     {100_000, "matmul", "tensor.stream.id", `"intValue":"#"`},
	"steps":       {100_000, "matmul", "tensor.step", `"intValue":"#"`},
	"paths":       {100_000, "matmul", "tensor.op.path", `"stringValue":"` + strings.Repeat("y", 4<<10) + `#"`},
	"shapes":      {100_000, "matmul", "tensor.output.shape", `"arrayValue":{"values":[{"intValue":"1#"}]}`},
	"attributes":  {100_000, "matmul", "note", `"stringValue":"` + strings.Repeat("z", 8<<10) + `#"`},
}

// S1: received data, the page and the report together stay within the memory of the command.
func TestServeMemoryStaysBounded(t *testing.T) {
	cases.NotUnderRace(t, "the race detector multiplies the memory that is measured, and takes minutes")
	for name := range cases.Of(t, 1, slices.Sorted(maps.Keys(crowds))) {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "optrace", "serve", "-listen", "127.0.0.1:0", "-otlp-http",
				"127.0.0.1:0", "-otlp-grpc", "-")
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out := check.Must(cmd.StdoutPipe())(t)
			check.OK(t, cmd.Start())
			defer http.DefaultClient.CloseIdleConnections()
			var page, receiver string
			for lines := bufio.NewScanner(out); receiver == "" && lines.Scan(); {
				switch kind, address, _ := strings.Cut(lines.Text(), " "); kind {
				case "page":
					page = strings.TrimSpace(address)
				case "OTLP/HTTP":
					receiver = strings.TrimSpace(address)
				}
			}
			sendCrowd(t, receiver, name)

			for _, one := range []struct {
				path string
				most int // bytes
			}{{"", 16 << 20}, {"data", 16 << 20}, {"?format=json", 64 << 20}, {"?format=text", 16 << 20},
				{"?format=pprof", 64 << 20},
				{"trace.json", 128 << 20}} {
				start := time.Now()
				text := fetchText(t, page+one.path)
				t.Logf("%q: %d bytes in %v", one.path, len(text), time.Since(start))
				if len(text) > one.most {
					t.Errorf("%q has %d bytes", one.path, len(text))
				}
				if one.path == "?format=json" {
					checkCrowd(t, text, crowds[name].operations)
				}
			}
			if took := mostResident(t, cmd.Process.Pid); took > 700<<20 {
				t.Errorf("took %d MiB", took>>20)
			} else {
				t.Logf("took %d MiB", took>>20)
			}
			_ = cmd.Process.Signal(os.Interrupt)
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, &stderr)
			}
		})
	}
}

// mostResident returns the peak memory of a process in bytes.
func mostResident(t *testing.T, pid int) int64 {
	t.Helper()
	text := check.Must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(t)
	_, line, _ := strings.Cut(string(text), "VmHWM:")
	var kib int64
	check.Must(fmt.Sscan(line, &kib))(t)
	return kib << 10
}

// sendCrowd sends operations in requests of 4 MiB.
func sendCrowd(t *testing.T, receiver, crowd string) {
	t.Helper()
	c := crowds[crowd]
	var text bytes.Buffer
	for i := range c.operations {
		if text.Len() == 0 {
			text.WriteString(`{"resourceSpans":[{"scopeSpans":[{"spans":[`)
		} else {
			text.WriteByte(',')
		}
		number := strconv.Itoa(i)
		fmt.Fprintf(&text,
			`{"traceId":"%032x","spanId":"%016x","name":"%s","startTimeUnixNano":"%d","endTimeUnixNano":"%d",`+
				`"attributes":[{"key":"tensor.op.name","value":{"stringValue":"%[3]s"}},{"key":%[6]q,"value":{%[7]s}}]}`,
			i/100+1, i+1, strings.ReplaceAll(c.name, "#", number), 1_000_000_000_000_000_000+i*1000,
			1_000_000_000_000_000_900+i*1000, c.key, strings.ReplaceAll(c.value, "#", number))
		if text.Len() < 4<<20 && i < c.operations-1 {
			continue
		}
		text.WriteString(`]}]}]}`)
		var body bytes.Buffer
		z, _ := gzip.NewWriterLevel(&body, gzip.BestSpeed)
		_, _ = text.WriteTo(z)
		_ = z.Close()
		r := check.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, receiver, &body))(t)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Content-Encoding", "gzip")
		answer := check.Must(http.DefaultClient.Do(r))(t)
		said, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", answer.Status, said)
		}
	}
}

// checkCrowd checks the sums of the report: every sent operation counts, or has fallen out of the window.
func checkCrowd(t *testing.T, report string, sent int) {
	t.Helper()
	var r struct {
		Input      struct{ Entries int }
		Operations []struct {
			Count int
		}
	}
	check.OK(t, json.Unmarshal([]byte(report), &r))
	calls := 0
	for _, o := range r.Operations {
		calls += o.Count
	}
	t.Logf("%d entries, %d rows with %d calls", r.Input.Entries, len(r.Operations), calls)
	if r.Input.Entries == 0 || r.Input.Entries > sent || calls != r.Input.Entries {
		t.Errorf("%d entries, %d calls of %d operations", r.Input.Entries, calls, sent)
	}
}
