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
	"strings"
	"testing"
	"time"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
)

// crowds are operations of which each has another value of something, as a span of OTLP: its name and further fields.
var crowds = map[string]struct {
	operations int
	span       func(i int) (name, attributes string)
}{
	"names":      {100_000, func(i int) (string, string) { return fmt.Sprintf("operation %010d", i), "" }},
	"2 KB names": {100_000, func(i int) (string, string) { return fmt.Sprint(i, strings.Repeat("x", 2<<10)), "" }},
	"16 KB names": {60_000, func(i int) (string, string) {
		return fmt.Sprint(i, strings.Repeat("x", 16<<10)), ""
	}},
	"devices": {100_000, func(i int) (string, string) {
		return "matmul", stringAttribute("tensor.device.id", fmt.Sprint("gpu:", i))
	}},
	"streams": {100_000, func(i int) (string, string) {
		return "matmul", fmt.Sprintf(`,{"key":"tensor.stream.id","value":{"intValue":"%d"}}`, i)
	}},
	"steps": {100_000, func(i int) (string, string) {
		return "matmul", fmt.Sprintf(`,{"key":"tensor.step","value":{"intValue":"%d"}}`, i)
	}},
	"paths": {100_000, func(i int) (string, string) {
		return "matmul", stringAttribute("tensor.op.path", fmt.Sprint(strings.Repeat("y", 4<<10), i))
	}},
	"shapes": {100_000, func(i int) (string, string) {
		return "matmul", fmt.Sprintf(`,{"key":"tensor.output.shape","value":{"arrayValue":{"values":[{"intValue":"%d"}]}}}`, i+1)
	}},
	"attributes": {100_000, func(i int) (string, string) {
		return "matmul", stringAttribute("note", fmt.Sprint(strings.Repeat("z", 8<<10), i))
	}},
}

func stringAttribute(key, value string) string {
	return fmt.Sprintf(`,{"key":%q,"value":{"stringValue":%q}}`, key, value)
}

// S1: what programs send, and what the page and the report make of it, takes the memory that the command may take.
func TestS1ServeMemory(t *testing.T) {
	cases.NotUnderRace(t, "the race detector multiplies the memory that is measured, and takes minutes")
	for name := range cases.Of(t, 1, slices.Sorted(maps.Keys(crowds))) {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "optrace", "serve", "-listen", "127.0.0.1:0", "-otlp-http", "127.0.0.1:0", "-otlp-grpc", "-")
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
			sendCrowd(t, receiver, crowds[name].operations, crowds[name].span)

			for _, one := range []struct {
				path string
				most int // bytes
			}{{"", 16 << 20}, {"data", 16 << 20}, {"?format=json", 64 << 20}, {"?format=text", 16 << 20}, {"?format=pprof", 64 << 20},
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

// mostResident returns the most memory that a process has had, in bytes.
func mostResident(t *testing.T, pid int) int64 {
	t.Helper()
	text := check.Must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(t)
	_, line, _ := strings.Cut(string(text), "VmHWM:")
	var kib int64
	check.Must(fmt.Sscan(line, &kib))(t)
	return kib << 10
}

// sendCrowd sends n operations in requests of 4 MiB. Names need no escapes.
func sendCrowd(t *testing.T, receiver string, n int, span func(int) (name, attributes string)) {
	t.Helper()
	var text bytes.Buffer
	for i := range n {
		if text.Len() == 0 {
			text.WriteString(`{"resourceSpans":[{"scopeSpans":[{"spans":[`)
		} else {
			text.WriteByte(',')
		}
		name, attributes := span(i)
		fmt.Fprintf(&text, `{"traceId":"%032x","spanId":"%016x","name":"%s","startTimeUnixNano":"%d","endTimeUnixNano":"%d",`+
			`"attributes":[{"key":"tensor.op.name","value":{"stringValue":"%[3]s"}}%[6]s]}`, i/100+1, i+1, name,
			1_000_000_000_000_000_000+i*1000, 1_000_000_000_000_000_900+i*1000, attributes)
		if text.Len() < 4<<20 && i < n-1 {
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

// checkCrowd checks that every operation that was sent is in the sums of the report, or among those that fell out.
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
