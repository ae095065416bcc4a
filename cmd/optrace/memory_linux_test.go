package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// A grammar is a format of recordings. In operation @name, @device, @stream, @step and @dim stand for values, @attrs,
// @links, @events, @scope and @resource for lists, and # for the number of the operation; attr, link and event are
// elements of the lists, with # for the number of the element. nest is a nested value in an attribute, outside to
// inside and back.
type grammar struct {
	head, operation, between, tail string
	attr, link, event              string
	nest                           [4]string
}

const (
	ids      = `"traceId":"00000000000000001#","spanId":"#"`
	numbered = `{"key":"k#"}`
)

var grammars = map[string]grammar{
	"entries": {
		operation: `{"operation":"@name","device_id":"@device","stream":@stream,"step":@step,"output_shape":[@dim],` +
			`"start_unix_ns":1#0,` +
			`"duration_ns":5,"trace_id":"00000000000000001#","span_id":"#","attrs":{@attrs},"links":[@links],` +
			`"extra":{"events":[@events],"scope_attrs":{@scope}}}` + "\n",
		attr: `"k#":1`, link: `{"trace_id":"00000000000000001#","span_id":"#"}`, event: `{"name":"e","attrs":{"k#":1}}`,
		nest: [4]string{`"k":`, `{"a":[`, `]}`, ``},
	},
	"otlp": {
		head: `{"resourceSpans":[`,
		operation: `{"resource":{"attributes":[@resource]},"scopeSpans":[{"scope":{"attributes":[@scope]},` +
			`"spans":[{` + ids + `,"name":"@name","startTimeUnixNano":"1#0","endTimeUnixNano":"1#5","attributes":[` +
			`{"key":"tensor.op.name","value":{"stringValue":"@name"}},{"key":"tensor.device.id",` +
			`"value":{"stringValue":"@device"}},` +
			`{"key":"tensor.stream.id","value":{"intValue":"@stream"}},{"key":"tensor.step",` +
			`"value":{"intValue":"@step"}},` +
			`{"key":"tensor.output.shape","value":{"arrayValue":{"values":[{"intValue":"@dim"}]}}},@attrs],` +
			`"links":[@links],` +
			`"events":[@events]}]}]}`, between: ",", tail: "]}", attr: numbered, link: "{" + ids + "}",
		event: `{"attributes":[` + numbered + `]}`,
		nest: [4]string{`{"key":"k","value":`, `{"kvlistValue":{"values":[{"value":{"arrayValue":{"values":[`,
			`]}}}]}}`, `}`},
	},
	"jaeger": {
		head: `{"data":[{"traceID":"1","processes":{"p":{"serviceName":"s","tags":[]}},"spans":[`,
		operation: `{"traceID":"00000000000000001#","spanID":"#","operationName":"@name","startTime":1#,` +
			`"duration":5,"processID":"p","tags":[` +
			`{"key":"tensor.op.name","type":"string","value":"@name"},{"key":"tensor.device.id","type":"string",` +
			`"value":"@device"},` +
			`{"key":"tensor.stream.id","type":"int64","value":@stream},{"key":"tensor.step","type":"int64",` +
			`"value":@step},` +
			`{"key":"tensor.output.shape","type":"string","value":"[@dim]"},@attrs],"references":[@links],` +
			`"logs":[@events]}`,
		between: ",", tail: `]}]}`, attr: numbered,
		link:  `{"refType":"FOLLOWS_FROM","traceID":"00000000000000001#","spanID":"#"}`,
		event: `{"fields":[` + numbered + `]}`, nest: [4]string{`{"key":"k","value":`, `[{"a":`, `}]`, `}`},
	},
	"stdouttrace": {
		operation: `{"Name":"@name","SpanContext":{"TraceID":"00000000000000001#","SpanID":"#"},` +
			`"StartTime":"2026-01-01T00:00:00.1Z",` +
			`"EndTime":"2026-01-01T00:00:01Z","Attributes":[{"Key":"tensor.op.name","Value":{"Type":"STRING",` +
			`"Value":"@name"}},` +
			`{"Key":"tensor.device.id","Value":{"Type":"STRING","Value":"@device"}},` +
			`{"Key":"tensor.stream.id","Value":{"Type":"INT64","Value":@stream}},{"Key":"tensor.step",` +
			`"Value":{"Type":"INT64","Value":@step}},` +
			`{"Key":"tensor.output.shape","Value":{"Type":"INT64SLICE","Value":[@dim]}},@attrs],"Links":[@links],` +
			`"Events":[@events],` +
			`"Resource":[@resource],"InstrumentationScope":{"Name":"s","Attributes":[@scope]}}` + "\n",
		attr: `{"Key":"k#","Value":{"Value":1}}`, link: `{"SpanContext":{"TraceID":"00000000000000001#","SpanID":"#"}}`,
		event: `{"Attributes":[{"Key":"k#"}]}`,
		nest:  [4]string{`{"Key":"k","Value":`, `{"Type":"SLICE","Value":[`, `]}`, `}`},
	},
	"python-console": {
		operation: `{"name":"@name","context":{"trace_id":"0x00000000000000001#","span_id":"0x#"},"parent_id":null,` +
			`"start_time":"2026-01-01T00:00:00.1Z","end_time":"2026-01-01T00:00:01Z","attributes":{"tensor.op.name":"@name",` +
			`"tensor.device.id":"@device","tensor.stream.id":@stream,"tensor.step":@step,"tensor.output.shape":[@dim],` +
			`@attrs},"links":[@links],"events":[@events],"resource":{"attributes":{@resource}}}` + "\n",
		attr: `"k#":1`, link: `{"context":{"trace_id":"0x00000000000000001#","span_id":"0x#"}}`,
		event: `{"name":"e","attributes":{"k#":1}}`, nest: [4]string{`"k":`, `{"a":[`, `]}`, ``},
	},
	"chrome": {
		head: `{"schemaVersion":1,"traceEvents":[`,
		operation: `{"ph":"X","cat":"kernel","name":"@name","pid":"@device","tid":@stream,"ts":1#,` +
			`"dur":1,"args":{"stream":@stream,"correlation":1#,@attrs}},{"ph":"X","cat":"cpu_op","name":"@name",` +
			`"pid":1,"tid":1,"ts":1#,"dur":1,` +
			`"args":{"Input Dims":[[@dim]],"External id":1#,@attrs}},{"ph":"X","cat":"user_annotation",` +
			`"name":"ProfilerStep\u0023@step",` +
			`"pid":1,"tid":1,"ts":1#,"dur":1}`, between: ",", tail: `]}`, attr: `"k#":1`,
		nest: [4]string{`"k":`, `{"a":[`, `]}`, ``},
	},
	"ort": {
		head: `[{"cat":"Session","ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"model_loading_uri","args":{}},`,
		operation: `{"cat":"Node","ph":"X","pid":1,"tid":@stream,"ts":1#,"dur":1,"name":"@name_kernel_time",` +
			`"args":{"op_name":"@name",` +
			`"provider":"CPUExecutionProvider","input_type_shape":[{"float":[@dim]}],@attrs}}`,
		between: ",", tail: "]", attr: `"k#":1`, nest: [4]string{`"k":`, `{"a":[`, `]}`, ``},
	},
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
func (g *grammar) write(w io.Writer, h hoard, memory int64) {
	const none, here = "\x00", "\x01"
	values := map[string]string{
		"@name": "m", "@device": "gpu:0", "@stream": "7", "@step": "1", "@dim": "2",
		"@attrs": none, "@links": none, "@events": none, "@scope": none, "@resource": none,
	}
	maps.Copy(values, h.values)
	if values["@links"] == "link" {
		values["@links"] = g.link
	}
	place := strings.Replace(h.list, "nest", "@attrs", 1)
	values[place] = here
	text := g.operation
	for value, of := range values {
		if value != "" {
			text = strings.ReplaceAll(text, value, of)
		}
	}
	text = strings.NewReplacer(","+none, "", none+",", "", none, "").Replace(text)
	write := func(text string, i int64) {
		_, _ = io.WriteString(w, strings.ReplaceAll(text, "#", fmt.Sprintf("%015d", i)))
	}
	_, _ = io.WriteString(w, g.head)
	n := int64(1)
	if h.perOp > 0 {
		n = memory / h.perOp
	}
	before, behind, _ := strings.Cut(text, here)
	for i := range n {
		if i > 0 {
			_, _ = io.WriteString(w, g.between)
		}
		write(before, i)
		switch {
		case h.list == "nest":
			_, _ = io.WriteString(w, g.nest[0])
			for _, n := range []int{1, 2} {
				for range listBytes / (len(g.nest[1]) + len(g.nest[2])) {
					_, _ = io.WriteString(w, g.nest[n])
				}
			}
			_, _ = io.WriteString(w, g.nest[3])
		case h.list != "":
			element := map[string]string{"@links": g.link, "@events": g.event, "@dim": "3"}[h.list]
			if element == "" {
				element = g.attr
			}
			write(element, 0)
			for k := range int64(listBytes / (len(element) + 1 + 14*strings.Count(element, "#"))) {
				write(","+element, k+1)
			}
		}
		write(behind, i)
	}
	_, _ = io.WriteString(w, g.tail)
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
	check.Must(db.Exec(fmt.Sprintf(`PRAGMA journal_mode = OFF; CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
		CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
			globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
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
		g := grammars["entries"]
		g.write(w, h, memory)
		_ = w.Close()
		check.OK(t, exec.CommandContext(t.Context(), "optrace", "convert", "-max-memory", "0", "-to", format, "-o",
			path+".2", path).Run())
		check.OK(t, os.Rename(path+".2", path))
	default:
		g := grammars[format]
		g.write(w, h, memory)
		_ = w.Close()
	}
	check.OK(t, file.Close())
}

// runBounded runs the command and returns its peak memory, its output and its error.
func runBounded(t *testing.T, args []string) (peak int64, said string, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `ulimit -v 4800000; exec "$0" "$@"`, "optrace"},
		args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
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
	return peak, stderr.String(), err
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
		for format, g := range grammars {
			for name, h := range hoards() {
				if h.list == "nest" || strings.Contains(g.operation, h.list) {
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
				peak, said, err := runBounded(t, args)
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
