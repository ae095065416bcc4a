package perfetto_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/ingest/perfetto"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/perfettotest"
	"github.com/optrace/optrace/internal/testing/recordtest"
)

// reluSlice is the slice of an operation.
const reluSlice = `packet { timestamp: 1 track_event { type: 1
	debug_annotations { name: "tensor.op.name" string_value: "relu" } } }
	packet { timestamp: 3 track_event { type: 2 } }`

// compressed returns a packet with compressed packets in it.
func compressed(t *testing.T, isZstd bool, packets []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	field := protowire.Number(50)
	if isZstd {
		field = 133
		z := check.Must(zstd.NewWriter(&b))(t)
		check.Must(z.Write(packets))(t)
		check.OK(t, z.Close())
	} else {
		z := zlib.NewWriter(&b)
		check.Must(z.Write(packets))(t)
		check.OK(t, z.Close())
	}
	packet := protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), b.Bytes())
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), packet)
}

func TestCompressedPackets(t *testing.T) {
	trace := readFile(t, "testdata/kineto.pftrace")
	want := transcript(t, trace)
	good := perfettotest.Encode(t, reluSlice)
	relu := transcript(t, good)
	for _, isZstd := range []bool{false, true} {
		whole := compressed(t, isZstd, trace)
		check.Equal(t, fmt.Sprintf("zstd %v", isZstd), want, transcript(t, whole))
		if !perfetto.Sniff(whole) {
			t.Errorf("zstd %v: not recognised", isZstd)
		}
		// Damage in a compressed packet costs the rest of it.
		for name, bad := range map[string][]byte{
			"a packet that is cut off": compressed(t, isZstd, append(bytes.Clone(good), 0x0a, 9, 1)),
			"a tag":                    compressed(t, isZstd, append(bytes.Clone(good), 9)),
			"compressed twice":         compressed(t, isZstd, append(bytes.Clone(good), compressed(t, isZstd, good)...)),
		} {
			got := transcript(t, append(bad, good...))
			lines := strings.SplitAfter(got, "\n")
			if len(lines) != 4 || lines[0] != relu || !strings.HasPrefix(lines[1], "error: trace: compressed "+
				"packets ") && !strings.HasPrefix(lines[1], "error: trace: compressed packets: ") || lines[2] != relu {
				t.Errorf("zstd %v, %s:\n%s", isZstd, name, got)
			}
		}
	}
	noZlib := []byte{0x0a, 5, 0x92, 0x03, 2, 1, 2}
	got := transcript(t, append(noZlib, good...))
	if !strings.HasPrefix(got, "error: trace: compressed packets: ") || !strings.HasSuffix(got, relu) {
		t.Error(got)
	}
}

// A packet that expands beyond a limit is read up to the limit.
func TestCompressedBomb(t *testing.T) {
	bomb := compressed(t, false, bytes.Repeat([]byte{0x0a, 0}, perfetto.MaxCompressedBytes/2+1000))
	good := perfettotest.Encode(t, reluSlice)
	check.Equal(t, "", transcript(t, good), transcript(t, append(bomb, good...)))
}

func TestSniff(t *testing.T) {
	golden.Lines(t, "testdata/heads.txt", func(head string) string {
		return fmt.Sprint(perfetto.Sniff([]byte(head)))
	})
	check.Equal(t, "ours and others'", true, perfetto.Sniff(readFile(t, "testdata/sdk.pftrace")))
}

// OTLP messages start with the same tag. Whatever the length of the head, neither format is taken for the other.
func TestSniffOTLP(t *testing.T) {
	files, err := filepath.Glob("../otlp/testdata/*/traces*.pb")
	if err != nil || len(files) == 0 {
		t.Fatal("no files:", err)
	}
	for _, file := range files {
		text := readFile(t, file)
		for _, head := range [][]byte{text, text[4:]} { // with the length of the frame, and the message
			for n := range min(len(head), 4096) {
				if perfetto.Sniff(head[:n]) {
					t.Fatalf("%s: %d bytes are taken for a trace of Perfetto", file, n)
				}
			}
		}
	}
	for _, file := range []string{"testdata/kineto.pftrace", "testdata/sdk.pftrace"} {
		text := readFile(t, file)
		for n := range len(text) {
			if got := otlp.Sniff(text[:n]); got != otlp.FramingNone {
				t.Fatalf("%s: %d bytes are taken for OTLP", file, n)
			}
		}
	}
}

// Held memory is bounded: interned names, tracks, open slices, and annotations with long interned texts.
func TestMemoryIsLimited(t *testing.T) {
	full := errors.New("full")
	const limit = 256 << 10
	text := strings.Repeat("x", 1000)
	repeated := func(packet func(i int) string) []byte {
		var b strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&b, "packet { trusted_packet_sequence_id: 1 timestamp: %d %s }\n", i, packet(i))
		}
		return perfettotest.Encode(t, b.String())
	}
	var damaged []byte
	for i := range 3000 {
		const defaults = 59 // of a packet
		packet := perfettotest.Encode(t, fmt.Sprintf(`packet { interned_data { event_names { iid: %d name: "%s" } } }`,
			i+1, text))
		packet, _ = protowire.ConsumeBytes(packet[1:])
		packet = protowire.AppendBytes(protowire.AppendTag(packet, defaults, protowire.BytesType), []byte{0xff})
		damaged = protowire.AppendBytes(protowire.AppendTag(damaged, 1, protowire.BytesType), packet)
	}
	for name, trace := range map[string][]byte{
		"names of packets that are not well formed": damaged,
		"names": repeated(func(i int) string {
			return fmt.Sprintf(`interned_data { event_names { iid: %d name: "%s" } }`, i+1, text)
		}),
		"beginnings": repeated(func(int) string {
			return fmt.Sprintf(`track_event { type: 1 debug_annotations { name: "a" string_value: "%s" } }`, text)
		}),
		"operations": repeated(func(i int) string {
			return fmt.Sprintf(`gpu_render_stage_event { event_id: %d extra_data { name: "a" value: "%s" } }`, i+1, text)
		}),
		"kernels": repeated(func(i int) string {
			return fmt.Sprintf(`interned_data { compute_kernels { iid: %d name: "%s" } }`, i+1, text)
		}),
		"tracks": repeated(func(i int) string { return fmt.Sprintf(`track_descriptor { uuid: %d }`, i+1) }),
	} {
		held := int64(0)
		hold := func(n int64) error {
			held += n
			if n > 0 && held > limit {
				return full
			}
			return nil
		}
		var last error
		for _, err := range perfetto.Records(bytes.NewReader(trace), "trace", attrmap.Holding(nil, hold)) {
			last = err
		}
		check.Is(t, name, full, last)
		check.Equal(t, fmt.Sprintf("%s: bytes are still held", name), 0, held)
	}
	var event strings.Builder
	for range 20_000 {
		event.WriteString("debug_annotations { name_iid: 1 string_value_iid: 1 } ")
	}
	trace := perfettotest.Encode(t, fmt.Sprintf(`packet { interned_data {
		debug_annotation_names { iid: 1 name: "%[1]s" } debug_annotation_string_values { iid: 1 str: "%[1]s" } } }
		packet { timestamp: 1 track_event { type: 1 %s } } packet { timestamp: 2
			track_event { type: 2 } }`, text, event.String()))
	if got := transcript(t, trace); !strings.Contains(got, "an event with annotations that are too large") {
		t.Error(got)
	}
}

// Annotations are read up to a depth.
func TestDeepAnnotations(t *testing.T) {
	const depth = 5000
	for name, value := range map[string]string{
		"lists": strings.Repeat("array_values { ", depth) + "int_value: 1" + strings.Repeat(" }", depth),
		"JSON":  `legacy_json_value: "` + strings.Repeat("[", depth) + "1" + strings.Repeat("]", depth) + `"`,
	} {
		trace := perfettotest.Encode(t, `packet { timestamp: 1 track_event { type: 1
			debug_annotations { name: "a" `+value+` } } }
			packet { timestamp: 3 track_event { type: 2 } }`)
		check.Equal(t, name, "skipped non_op: 1\n", transcript(t, trace))
	}
}

func BenchmarkReadPerfetto(b *testing.B) {
	const slices = 5000
	var text strings.Builder
	text.WriteString(`packet { trusted_packet_sequence_id: 1 sequence_flags: 1 interned_data {
		event_names { iid: 1 name: "matmul" }
		event_categories { iid: 1 name: "op" } debug_annotation_names { iid: 1 name: "tensor.op.name" }
		debug_annotation_names { iid: 2 name: "tensor.output.shape" } } }`)
	for i := range slices {
		fmt.Fprintf(&text, `packet { trusted_packet_sequence_id: 1 sequence_flags: 2 timestamp: %d
			track_event { type: 1 track_uuid: %d name_iid: 1
			category_iids: 1 debug_annotations { name_iid: 1 string_value: "matmul" } debug_annotations { name_iid: 2
			array_values { int_value: 64 } array_values { int_value: 256 } } } }
			packet { trusted_packet_sequence_id: 1 sequence_flags: 2 timestamp: %d
				track_event { type: 2 track_uuid: %[2]d } }`,
			10*i+1, i%4+1, 10*i+8)
	}
	recordtest.Benchmark(b, perfettotest.Encode(b, text.String()), slices, perfetto.Records)
}
