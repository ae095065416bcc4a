package perfetto_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest/perfetto"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/perfettotest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// transcript returns the records of a trace, one per line.
func transcript(t testing.TB, trace []byte) string {
	t.Helper()
	return recordtest.Transcript(t, perfetto.Records(bytes.NewReader(trace), "trace", nil))
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	return check.Must(os.ReadFile(path))(t)
}

// TestGolden makes a trace of each text in testdata, by the public schema, and reads it:
//
//	kineto  PyTorch's profiler: operators, launches, kernels, copies
//	sdk     a sequence with clocks and a track of its own; unreadable events
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.textproto")
	if err != nil || len(files) == 0 {
		t.Fatal("no traces:", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			trace := perfettotest.Encode(t, string(readFile(t, file)))
			name := strings.TrimSuffix(file, ".textproto")
			golden.Check(t, name+".pftrace", trace)
			golden.Check(t, name+".golden", transcript(t, trace))
		})
	}
}

// TestRecords reads traces of few packets, in the text form of the public schema.
func TestRecords(t *testing.T) {
	golden.Cases(t, "testdata/cases.txt", func(text string) string { return transcript(t, perfettotest.Encode(t, text)) })
}

// A truncated trace is read up to its end: the records are the first ones of the whole trace. An error tells the end,
// unless it is behind a packet.
func TestCutOff(t *testing.T) {
	trace := readFile(t, "testdata/sdk.pftrace")
	entries := func(text []byte) (lines []string, last error) {
		for rec, err := range perfetto.Records(bytes.NewReader(text), "trace", nil) {
			if rec.Entry != nil {
				lines = append(lines, string(rec.Entry.AppendJSON(nil)))
			}
			last = err
		}
		return lines, last
	}
	whole, _ := entries(trace)
	ends := map[int]bool{0: true} // of packets
	for pos := 0; pos < len(trace); {
		size := int(trace[pos+1])
		head := 2
		if size >= 0x80 {
			size = size&0x7f | int(trace[pos+2])<<7
			head = 3
		}
		pos += head + size
		ends[pos] = true
	}
	for cut := range trace {
		got, err := entries(trace[:cut])
		if len(got) > len(whole) {
			t.Fatalf("%d entries of %d bytes", len(got), cut)
		}
		if diff := cmp.Diff(strings.Join(whole[:len(got)], "\n"), strings.Join(got, "\n")); diff != "" {
			t.Fatalf("%d bytes (-want +got):\n%s", cut, diff)
		}
		syntax, _ := errors.AsType[*op.SyntaxError](err)
		if isCut := syntax != nil && syntax.Truncated; isCut == ends[cut] {
			t.Fatalf("%d bytes: err = %v, a packet ends there: %v", cut, err, ends[cut])
		} else if isCut && syntax.Offset != int64(cut) {
			t.Fatalf("%d bytes: cut off at %d", cut, syntax.Offset)
		}
	}
}

// A foreign tag ends the reading with its position; a malformed packet costs itself.
func TestDamage(t *testing.T) {
	good := perfettotest.Encode(t, reluSlice)
	relu := transcript(t, good)
	if !strings.Contains(relu, `"operation":"relu"`) {
		t.Fatal(relu)
	}
	bad := []byte{0x0a, 2, 0x5a, 9} // an event longer than its packet
	for _, test := range []struct{ name, text, want string }{
		{"a packet", string(bad) + string(good), "error: trace: a packet that is not well formed (at byte 0)\n" + relu},
		{"behind", string(good) + string(bad), relu + "error: trace: a packet that is not well formed (at byte 40)\n"},
		{"a tag", string(good) + "\x0b" + string(good), relu +
			"error: trace: expected a packet, found the tag 11 (at byte 40)\n"},
		{
			"a length", string(good) + "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
			relu + "error: trace: a packet of 18446744073709551615 bytes (at byte 40)\n",
		},
		{
			"a length of more than 64 bits", string(good) + "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
			relu + "error: trace: a number longer than 64 bits (at byte 40)\n",
		},
		{
			"more than there is", string(good) + "\x0a\xff\xff\x7f" + "abc",
			relu + "error: trace: the file ends within a packet (at byte 47)\n",
		},
		{"a packet without anything", string(good) + "\x0a\x00" + string(good), relu + relu},
	} {
		t.Run(test.name, func(t *testing.T) {
			check.Equal(t, "", test.want, transcript(t, []byte(test.text)))
		})
	}
}

// A packet above the limit is skipped without holding it.
func TestLargePacket(t *testing.T) {
	const size = perfetto.MaxPacketBytes + 1
	good := perfettotest.Encode(t, reluSlice)
	trace := slices.Concat([]byte{0x0a, 0x81, 0x80, 0x80, 0x08}, make([]byte, size), good)
	want := "error: trace: a packet of 16777217 bytes, more than 16777216 (at byte 0)\n" + transcript(t, good)
	check.Equal(t, "", want, transcript(t, trace))
}

func TestRecordsEnd(t *testing.T) {
	recordtest.Ends(t, perfetto.Records, string(readFile(t, "testdata/kineto.pftrace")),
		string(readFile(t, "testdata/sdk.pftrace")))
}

// FuzzRecords checks that no input makes the reader panic, and that entries are valid and survive JSON Lines.
func FuzzRecords(f *testing.F) {
	files := check.Must(filepath.Glob("testdata/*.pftrace"))(f)
	for _, file := range files {
		f.Add(readFile(f, file))
	}
	f.Fuzz(func(t *testing.T, trace []byte) {
		m := &attr.Mapping{}
		m.Keep("settings")
		recordtest.Check(t, perfetto.Records(bytes.NewReader(trace), "fuzz", m))
		perfetto.Sniff(trace)
	})
}

// Kernels and copies of rocprofv3 are operations of the GPU of their agent; calls of HIP launch them.
func TestRocprofv3(t *testing.T) {
	trace, err := os.ReadFile("../../../shared/data/reports/55-rocprofv3.pftrace")
	if err != nil {
		t.Skip(err)
	}
	golden.Check(t, "testdata/rocprofv3.golden", transcript(t, trace))
}
