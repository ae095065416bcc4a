package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	_ "modernc.org/sqlite"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

// A grammar is a format of recordings, with the parts head, operation, between and tail. In operation @name, @device, @stream,
// @step and @dim stand for values, @attrs, @links, @events, @scope and @resource for lists, and # for the number of the
// operation; attr, link and event are elements of the lists, with # for the number of the element. nest0 to nest3 are a
// nested value in an attribute, outside to inside and back.
type grammar map[string]string

// The command runs in other directories: it does not read them.
var grammars = sync.OnceValue(readGrammars)

func readGrammars() map[string]grammar {
	text, err := os.ReadFile("testdata/grammars.txt")
	if err != nil {
		panic(err)
	}
	all := make(map[string]grammar)
	var g grammar
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if key == "===" {
			g = make(grammar)
			all[value] = g
			continue
		}
		g[key] = strings.ReplaceAll(value, `\n`, "\n")
	}
	return all
}

// A hoard is a recording with much of one thing: an operation with distinct values for each perOp bytes of the allowed
// memory, or one operation with a list of listBytes.
type hoard struct {
	perOp  int64
	values map[string]string
	list   string // or "nest" for a nested attribute
}

const listBytes = 15 << 20

func hoards() map[string]hoard {
	all := map[string]hoard{"nest": {list: "nest"}, "longest @name": {perOp: 4 << 20,
		values: map[string]string{"@name": strings.Repeat("x", 7<<20) + "#"}}}
	for _, list := range []string{"@dim", "@attrs", "@links", "@events", "@scope", "@resource"} {
		all[list] = hoard{list: list}
	}
	for _, perOp := range []int64{64, 200, 700} { // some are refused as they are read, others fit and are analysed
		for value, text := range map[string]string{"@name": "n#", "@device": "gpu:#", "@stream": "1#", "@step": "1#",
			"@dim": "1#", "@links": "link", "": ""} {
			all[fmt.Sprintf("%s per %d", value, perOp)] = hoard{perOp: perOp, values: map[string]string{value: text}}
		}
		all[fmt.Sprintf("long @name per %d", perOp)] = hoard{perOp: 16 * perOp,
			values: map[string]string{"@name": strings.Repeat("x", 2<<10) + "#"}}
	}
	return all
}

// write writes a hoard for a memory limit, and takes little memory itself.
func (g grammar) write(w io.Writer, h hoard, memory int64) {
	const none, here = "\x00", "\x01"
	values := map[string]string{
		"@name": "m", "@device": "gpu:0", "@stream": "7", "@step": "1", "@dim": "2",
		"@attrs": none, "@links": none, "@events": none, "@scope": none, "@resource": none,
	}
	maps.Copy(values, h.values)
	if values["@links"] == "link" {
		values["@links"] = g["link"]
	}
	place := strings.Replace(h.list, "nest", "@attrs", 1)
	values[place] = here
	text := g["operation"]
	for value, of := range values {
		if value != "" {
			text = strings.ReplaceAll(text, value, of)
		}
	}
	text = strings.NewReplacer(","+none, "", none+",", "", none, "").Replace(text)
	write := func(text string, i int64) {
		_, _ = io.WriteString(w, strings.ReplaceAll(text, "#", fmt.Sprintf("%015d", i)))
	}
	_, _ = io.WriteString(w, g["head"])
	n := int64(1)
	if h.perOp > 0 {
		n = memory / h.perOp
	}
	before, behind, _ := strings.Cut(text, here)
	for i := range n {
		if i > 0 {
			_, _ = io.WriteString(w, g["between"])
		}
		write(before, i)
		switch {
		case h.list == "nest":
			_, _ = io.WriteString(w, g["nest0"])
			for _, n := range []int{1, 2} {
				for range listBytes / (len(g["nest1"]) + len(g["nest2"])) {
					_, _ = io.WriteString(w, g[fmt.Sprint("nest", n)])
				}
			}
			_, _ = io.WriteString(w, g["nest3"])
		case h.list != "":
			element := map[string]string{"@links": g["link"], "@events": g["event"], "@dim": "3"}[h.list]
			if element == "" {
				element = g["attr"]
			}
			write(element, 0)
			for k := range int64(listBytes / (len(element) + 1 + 14*strings.Count(element, "#"))) {
				write(","+element, k+1)
			}
		}
		write(behind, i)
	}
	_, _ = io.WriteString(w, g["tail"])
}

// protobuf writes a frame of OTLP with empty elements in one place of a span, its scope or its resource.
func protobuf(place string) []byte {
	field := func(n byte, parts ...[]byte) []byte {
		text := bytes.Join(parts, nil)
		return append(binary.AppendUvarint([]byte{n<<3 | 2}, uint64(len(text))), text...)
	}
	empty := func(at string, n byte) []byte {
		if at != place {
			return nil
		}
		return bytes.Repeat([]byte{n<<3 | 2, 0}, listBytes)
	}
	value := func(text []byte) []byte { return field(9, field(1, []byte("k")), field(2, text)) }
	name := field(9, field(1, []byte("tensor.op.name")), field(2, field(1, []byte("m"))))
	zeros := []byte(nil)
	if place == "zeros" {
		zeros = make([]byte, listBytes)
	}
	span := field(2, name, empty("span", 9), field(11, empty("event", 3)), empty("events", 11),
		field(13, empty("link", 4)),
		value(field(5, empty("list", 1), field(1, field(1, zeros)))), value(field(6, empty("map", 1))))
	message := field(1, field(1, empty("resource", 1)), field(2, field(1, empty("scope", 3)), span))
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

// kernels writes an export of Nsight Systems with n kernels, each with distinct name, device and stream.
func kernels(t *testing.T, path string, n int64) {
	db := check.Must(sql.Open("sqlite", path))(t)
	defer db.Close()
	check.Must(db.Exec(fmt.Sprintf(`PRAGMA journal_mode = OFF;
		CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
		CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
			correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d) INSERT INTO StringIds SELECT i, 'kernel' || i FROM n;
		INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT id*10, id*10+5, id, id, id, 1, id, id FROM StringIds`, n)))(t)
}

// makeHoard writes a hoard in a format to a file, compressed if the format is not.
func makeHoard(t *testing.T, format, name, path string, memory int64) {
	h := hoards()[name]
	file := check.Must(os.Create(path))(t)
	var w io.WriteCloser = check.Must(gzip.NewWriterLevel(file, gzip.BestSpeed))(t)
	switch {
	case format == "nsys":
		kernels(t, path, memory/h.perOp)
	case format == "otlp-proto":
		_, _ = w.Write(protobuf(name))
		_ = w.Close()
	case format == "otlp-zstd":
		z := check.Must(zstd.NewWriter(nil))(t)
		frame := z.EncodeAll(protobuf(name)[4:], nil)
		_, _ = file.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	case format == "parquet" || format == "perfetto":
		g := grammars()["entries"]
		g.write(w, h, memory)
		_ = w.Close()
		check.OK(t, exec.CommandContext(t.Context(), "optrace", "convert", "-max-memory", "0", "-to", format, "-o",
			path+".2", path).Run())
		check.OK(t, os.Rename(path+".2", path))
	default:
		g := grammars()[format]
		g.write(w, h, memory)
		_ = w.Close()
	}
	check.OK(t, file.Close())
}

// runBounded runs the command and returns its peak memory, its output and its error.
func runBounded(t *testing.T, args []string) (peak int64, stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `ulimit -v 4800000; exec "$0" "$@"`, "optrace"},
		args...)...)
	var out, said bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &said
	check.OK(t, cmd.Start())
	var running sync.WaitGroup
	ended := make(chan struct{})
	running.Go(func() { // the resources of a finished process include the test's own before its start
		for {
			select {
			case <-ended:
				return
			case <-time.After(3 * time.Millisecond):
				text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
				var kib int64
				_, line, _ := strings.Cut(string(text), "VmHWM:")
				_, _ = fmt.Sscan(line, &kib)
				peak = max(peak, kib<<10)
			}
		}
	})
	err = cmd.Wait()
	close(ended)
	running.Wait()
	return peak, out.String(), said.String(), err
}

// For any recording, a command takes at most twice the allowed memory plus 64 MiB. It counts omitted records, or names
// the exceeded limit.
func TestMemoryStaysBounded(t *testing.T) {
	cases.NotUnderRace(t, "the race detector multiplies the memory that is measured, and takes minutes")
	type one struct {
		format, hoard string
		memory        int64
	}
	var all []one
	for _, memory := range []int64{32, 128} {
		for format, g := range grammars() {
			for name, h := range hoards() {
				if h.list == "nest" || strings.Contains(g["operation"], h.list) {
					all = append(all, one{format, name, memory})
				}
			}
		}
		for _, place := range []string{"resource", "scope", "span", "event", "events", "link", "list", "map", "zeros"} {
			all = append(all, one{"otlp-proto", place, memory}, one{"otlp-zstd", place, memory})
		}
		for _, name := range []string{"@name per 200", "@name per 700", "@step per 200", "@stream per 700",
			"long @name per 64", " per 200"} {
			all = append(all, one{"parquet", name, memory}, one{"perfetto", name, memory}, one{"nsys", name, memory})
		}
	}
	slices.SortFunc(all, func(a, b one) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for c := range cases.Of(t, 3, all) {
		name := fmt.Sprintf("%s/%s/%dM", c.format, c.hoard, c.memory)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "hoard")
			makeHoard(t, c.format, c.hoard, path, c.memory<<20)
			lines := []string{
				// the rest does not depend on the format
				"report", "report -section summary", "convert -o @.out -to entries",
				"report -section all -by step,stream", "report -html @.html", "correlate", "diff @", "doctor",
				"convert -o @.out -to otlp", "convert -o @.out -to parquet", "convert -o @.out -to perfetto",
				"convert -o @.out -to pprof",
			}
			if c.format != "entries" {
				lines = lines[:3]
			}
			for _, line := range lines {
				args := append(strings.Fields(strings.ReplaceAll(line, "@", path)), "-max-memory",
					fmt.Sprint(c.memory<<20), path)
				peak, _, said, err := runBounded(t, args)
				var ended *exec.ExitError
				if err != nil && (!errors.As(err, &ended) || ended.ExitCode() != exit.BadInput ||
					!strings.Contains(said, path)) {
					t.Errorf("%s: %v, %.300q", line, err, said)
				}
				if most := 2*c.memory + 64; peak > most<<20 {
					t.Errorf("%s: took %d MiB, of %d", line, peak>>20, most)
				}
			}
		})
	}
}

// repeated writes n copies of a text, in gzip.
func repeated(head, unit string, n int, tail string) func(io.Writer) {
	return zipped(func(w io.Writer) {
		_, _ = io.WriteString(w, head)
		per := max(1, 64<<10/len(unit))
		block := strings.Repeat(unit, per)
		for ; n > 0; n -= per {
			_, _ = io.WriteString(w, block[:min(n, per)*len(unit)])
		}
		_, _ = io.WriteString(w, tail)
	})
}

func zipped(write func(io.Writer)) func(io.Writer) {
	return func(w io.Writer) {
		z := gzip.NewWriter(w)
		write(z)
		_ = z.Close()
	}
}

// distinctNames writes n operations with distinct names of a size.
func distinctNames(n, size int) func(io.Writer) {
	return zipped(func(w io.Writer) {
		rest := strings.Repeat("x", size)
		for i := range n {
			_, _ = fmt.Fprintf(w, `{"operation":"%016x%s","duration_ns":1}`+"\n", uint64(i)*0x9e3779b97f4a7c15, rest)
		}
	})
}

// tracks writes a trace of Perfetto with many tracks and sequences.
func tracks(w io.Writer) {
	for i := range 1 << 20 {
		number := binary.AppendUvarint(nil, uint64(1<<20+i)) // of three bytes
		packet := append([]byte{0x0a, 14, 0x40, 0x01, 0x50}, number...)
		_, _ = w.Write(append(append(packet, 0x5a, 6, 0x48, 0x01, 0x58), number...))
	}
}

const (
	tooMuch = "more than 64.0 MiB of memory is needed"
	spans   = `{"data":[{"traceID":"1","spans":[{}`
	anEntry = `{"operation":"a","duration_ns":1,"ts_unix_ns":1}` + "\n"
	lists   = `{"resourceSpans":[]}` + "\n"
)

// bombs are smaller versions of inputs that once took gigabytes or minutes. Each is read in little memory, or refused
// with an error that gives the position and advice.
var bombs = map[string]struct {
	write func(io.Writer)
	args  string // of the command
	fails string // part of the error; "" without one
	says  string // part of the report
}{
	"jaeger v1, empty spans": {repeated(spans, ",{}", 6<<20, `],"processes":{}}]}`), "report", "", "6,291,457"},
	"jaeger v1, small spans": {repeated(spans, `,{"a":1}`, 4<<20, `],"processes":{}}]}`), "report", tooMuch, ""},
	"jaeger v1, small spans, sums": {
		repeated(spans, `,{"a":1}`, 4<<20, `],"processes":{}}]}`),
		"report -section summary", "-max-memory 4G", "",
	},
	"seed trace": {
		repeated(`{"entries":[{"operation":"a","duration_us":1}`, `,{"operation":"a","duration_us":1}`, 3<<20, "]}"),
		"report -section summary -max-memory 160M", "", "3,145,729",
	},
	"entries, long names":       {distinctNames(40, 15<<20), "report", "", "40 operations"},
	"entries, long names, sums": {distinctNames(40, 15<<20), "report -section summary", "", "40 entries"},
	"entries, many long names":  {distinctNames(16<<10, 8<<10), "report", tooMuch, ""},
	"entries, many long names, sums": {
		distinctNames(16<<10, 8<<10),
		"report -section summary,operations -max-memory 256M", "", "16,384 entries",
	},
	"otlp, empty spans": {
		repeated("\x00\x80\x00\x0a\x0a\x85\x80\x80\x04\x12\x80\x80\x80\x04", "\x12\x00", 4<<20, ""),
		"report", "", "4,194,304",
	},
	"entries, millions":            {repeated("", anEntry, 3<<20, ""), "report", "-section summary", ""},
	"entries, millions, to chrome": {repeated("", anEntry, 1<<20, ""), "convert -to chrome", "-max-memory 4G", ""},
	"entries, millions, to perfetto": {
		repeated("", anEntry, 1<<20, ""),
		"convert -to perfetto", "-max-memory 4G", "",
	},
	"entries, millions, to jaeger":   {repeated("", anEntry, 1<<20, ""), "convert -to jaeger", "-max-memory 4G", ""},
	"entries, newlines":              {repeated(anEntry, "\n", 64<<20, ""), "report", "", "1 operation"},
	"perfetto, beginnings":           {repeated("", "\x0a\x06\x40\x01\x5a\x02\x48\x01", 2<<20, ""), "report", tooMuch, ""},
	"perfetto, tracks and sequences": {zipped(tracks), "report", tooMuch, ""},
	"otlp json, newlines":            {repeated(lists, "\n", 16<<20, ""), "report", "", "0 operations"},
	"otlp json, newlines between": {
		repeated(`{"resourceSpans":[{"scopeSpans":[`, "\n", 16<<20, "]}]}"),
		"report", "", "0 operations",
	},
	"otlp json, braces": {repeated(lists, "{\n", 4<<20, ""), "report", "only 4194303 unreadable records", ""},
	"parquet, zeros":    {repeated("PAR1", "\x00", 300<<20, ""), "report", "too large to be copied", ""},
}

// R2: no input takes more memory than allowed, or than the machine has.
func TestBombsAreRefused(t *testing.T) {
	cases.NotUnderRace(t, "the race detector multiplies the memory that is measured, and takes minutes")
	for name := range cases.Of(t, 1, slices.Sorted(maps.Keys(bombs))) {
		bomb := bombs[name]
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			path := filepath.Join(dir, "bomb")
			file := check.Must(os.Create(path))(t)
			bomb.write(file)
			check.OK(t, file.Close())
			args := strings.Fields(bomb.args)
			if !slices.Contains(args, "-max-memory") {
				args = append(args, "-max-memory", "64M")
			}
			peak, stdout, stderr, err := runBounded(t, append(args, path))
			var ended *exec.ExitError
			failed := errors.As(err, &ended) && ended.ExitCode() == exit.BadInput
			if (err != nil) != failed || failed != (bomb.fails != "") || !strings.Contains(stderr, bomb.fails) ||
				!strings.Contains(stdout, bomb.says) {
				t.Errorf("ended with %v and %q, want %q\n%.2000s", err, stderr, bomb.fails, stdout)
			}
			const most = 400 << 20 // 64 MiB or more held, some 50 for the program
			if peak > most {
				t.Errorf("took %d MiB", peak>>20)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "optrace-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

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
