package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

func repeated(head, unit string, n int, tail string) func(io.Writer) {
	return func(w io.Writer) {
		_, _ = io.WriteString(w, head)
		per := max(1, 64<<10/len(unit))
		block := strings.Repeat(unit, per)
		for ; n > 0; n -= per {
			_, _ = io.WriteString(w, block[:min(n, per)*len(unit)])
		}
		_, _ = io.WriteString(w, tail)
	}
}

func zipped(write func(io.Writer)) func(io.Writer) {
	return func(w io.Writer) {
		z := gzip.NewWriter(w)
		write(z)
		_ = z.Close()
	}
}

// longNames writes operations with names as long as a line may be.
func longNames(w io.Writer) {
	for i := range 40 {
		repeated(`{"operation":"`+string(rune('a'+i)), "x", 15<<20, `","duration_ns":1}`+"\n")(w)
	}
}

// manyNames writes operations with distinct long names.
func manyNames(w io.Writer) {
	name := strings.Repeat("x", 8<<10)
	var number [8]byte
	for i := range 16 << 10 {
		binary.BigEndian.PutUint64(number[:], uint64(i)*0x9e3779b97f4a7c15)
		text := bytes.Map(func(r rune) rune { return 'a' + r%26 }, number[:])
		_, _ = io.WriteString(w, `{"operation":"`+string(text)+name+`","duration_ns":1}`+"\n")
	}
}

// emptySpans writes a frame of OTLP protobuf with spans without fields.
func emptySpans(w io.Writer) {
	message := func(field byte, text []byte) []byte {
		return append(binary.AppendUvarint([]byte{field<<3 | 2}, uint64(len(text))), text...)
	}
	batch := message(1, message(2, bytes.Repeat([]byte{2<<3 | 2, 0}, 4<<20)))
	_, _ = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(batch))), batch...))
}

// tracks writes a trace of Perfetto with many tracks and sequences.
func tracks(w io.Writer) {
	for i := range 1 << 20 {
		number := binary.AppendUvarint(nil, uint64(1<<20+i)) // of three bytes
		packet := append([]byte{0x0a, 14, 0x40, 0x01, 0x50}, number...)
		_, _ = w.Write(append(append(packet, 0x5a, 6, 0x48, 0x01, 0x58), number...))
	}
}

// bombs are smaller versions of inputs that once took gigabytes or minutes. Each is read in little memory, or refused
// with an error that gives the position and advice.
var bombs = map[string]struct {
	write func(io.Writer)
	args  []string // of the command; nil is a report
	fails string   // part of the error; "" without one
	says  string   // part of the report
}{
	"jaeger v1, empty spans": {
		write: zipped(repeated(`{"data":[{"traceID":"1","spans":[{}`, ",{}", 6<<20, `],"processes":{}}]}`)),
		says:  "6,291,457",
	},
	"jaeger v1, small spans": {
		write: zipped(repeated(`{"data":[{"traceID":"1","spans":[{}`, `,{"a":1}`, 4<<20, `],"processes":{}}]}`)),
		fails: "more than 64.0 MiB of memory is needed",
	},
	"jaeger v1, small spans, sums": {
		write: zipped(repeated(`{"data":[{"traceID":"1","spans":[{}`, `,{"a":1}`, 4<<20, `],"processes":{}}]}`)),
		args:  []string{"report", "-section", "summary"}, fails: "-max-memory 4G",
	},
	"seed trace": {
		write: zipped(repeated(`{"entries":[{"operation":"a","duration_us":1}`, `,{"operation":"a","duration_us":1}`,
			3<<20, "]}")),
		args: []string{"report", "-section", "summary", "-max-memory", "160M"}, says: "3,145,729",
	},
	"entries, long names": {write: zipped(longNames), says: "40 operations"},
	"entries, long names, sums": {write: zipped(longNames), args: []string{"report", "-section", "summary"},
		says: "40 entries"},
	"entries, many long names": {write: zipped(manyNames), fails: "more than 64.0 MiB of memory is needed"},
	"entries, many long names, sums": {
		write: zipped(manyNames), args: []string{"report", "-section", "summary,operations", "-max-memory", "256M"},
		says: "16,384 entries",
	},
	"otlp, empty spans": {write: emptySpans, says: "4,194,304"},
	"entries, millions": {
		write: zipped(repeated("", `{"operation":"a","duration_ns":1,"ts_unix_ns":1}`+"\n", 3<<20, "")),
		fails: "-section summary",
	},
	"entries, millions, to a timeline": {
		write: zipped(repeated("", `{"operation":"a","duration_ns":1,"ts_unix_ns":1}`+"\n", 1<<20, "")),
		args:  []string{"convert", "-to", "chrome"}, fails: "-max-memory 4G",
	},
	"entries, millions, to perfetto": {
		write: zipped(repeated("", `{"operation":"a","duration_ns":1,"ts_unix_ns":1}`+"\n", 1<<20, "")),
		args:  []string{"convert", "-to", "perfetto"}, fails: "-max-memory 4G",
	},
	"perfetto, beginnings": {
		write: zipped(repeated("", "\x0a\x06\x40\x01\x5a\x02\x48\x01", 2<<20, "")),
		fails: "more than 64.0 MiB of memory is needed",
	},
	"perfetto, tracks and sequences": {
		write: zipped(tracks), fails: "more than 64.0 MiB of memory is needed",
	},
	"entries, millions, to jaeger": {
		write: zipped(repeated("", `{"operation":"a","duration_ns":1,"ts_unix_ns":1}`+"\n", 1<<20, "")),
		args:  []string{"convert", "-to", "jaeger"}, fails: "-max-memory 4G",
	},
	"otlp json, newlines": {write: zipped(repeated(`{"resourceSpans":[]}`+"\n", "\n", 16<<20, "")),
		says: "0 operations"},
	"otlp json, newlines between": {
		write: zipped(repeated(`{"resourceSpans":[{"scopeSpans":[`, "\n", 16<<20, "]}]}")), says: "0 operations",
	},
	"otlp json, braces": {write: repeated(`{"resourceSpans":[]}`+"\n", "{\n", 4<<20, ""),
		fails: "only 4194303 unreadable records"},
	"entries, newlines": {write: zipped(repeated(`{"operation":"a","duration_ns":1}`+"\n", "\n", 64<<20, "")),
		says: "1 operation"},
	"parquet, zeros": {write: zipped(repeated("PAR1", "\x00", 300<<20, "")), fails: "too large to be copied"},
}

// R2: no input takes more memory than allowed, or than the machine has.
func TestBombsAreRefused(t *testing.T) {
	cases.NotUnderRace(t, "the race detector multiplies the memory that is measured, and takes minutes")
	for name := range cases.Of(t, 1, slices.Sorted(maps.Keys(bombs))) {
		bomb := bombs[name]
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "bomb")
			file, err := os.Create(path)
			check.OK(t, err)
			bomb.write(file)
			check.OK(t, file.Close())
			args := bomb.args
			if args == nil {
				args = []string{"report"}
			}
			if !strings.Contains(strings.Join(args, " "), "-max-memory") {
				args = append(args, "-max-memory", "64M")
			}
			cmd := exec.CommandContext(t.Context(), "optrace", append(args, path)...)
			cmd.Env = append(os.Environ(), "TMPDIR="+dir)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err = cmd.Run()
			var ended *exec.ExitError
			switch {
			case bomb.fails == "" && err != nil:
				t.Errorf("%v: %s", err, &stderr)
			case bomb.fails == "":
				if !strings.Contains(stdout.String(), bomb.says) {
					t.Errorf("the report lacks %q: %.2000s", bomb.says, stdout.String())
				}
			case !errors.As(err, &ended) || ended.ExitCode() != exit.BadInput ||
				!strings.Contains(stderr.String(), bomb.fails):
				t.Errorf("ended with %v and %q, want %q", err, stderr.String(), bomb.fails)
			}
			const most = 400 << 10 // 64 MiB or more held, some 50 for the program
			if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss > most {
				t.Errorf("took %d MiB", usage.Maxrss>>10)
			}
			left, _ := filepath.Glob(filepath.Join(dir, "optrace-*"))
			if len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}
