package ingest_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/otlptest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// hostsOf returns the attribute host.name of each entry by step, read by several workers in parts of a size.
func hostsOf(t *testing.T, path string, size, workers int) map[int64]string {
	t.Helper()
	m := new(attr.Mapping)
	m.Keep("host.name")
	in := ingest.Options{Mapping: m}.Open(path)
	in.SetPartSize(size)
	hosts := make(map[int64]string)
	var mu sync.Mutex
	err := in.Read(workers, func(_ int, _, _ int64, records iter.Seq2[op.Record, error]) error {
		for rec, err := range records {
			if err != nil {
				return err
			}
			if rec.Entry == nil {
				continue
			}
			if a := opmodel.FindAttr(rec.Entry.Attrs, "host.name"); a != nil {
				mu.Lock()
				hosts[rec.Entry.Step.V] = a.Value
				mu.Unlock()
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return hosts
}

// process appends batches to a file like the exporter: a batch record, a header if the resource changed, and entries.
// Some have their header in front of the first batch record.
type process struct {
	name, host   string
	headed, last bool
	seq          int64
}

func (p *process) write(rng *rand.Rand, b *bytes.Buffer, hosts map[int64]string) {
	header := func() {
		fmt.Fprintf(b, `{"schema":"optrace.entries/v1","resource":{"service":"s","attrs":{"host.name":%q}}}`+"\n",
			p.host)
		p.headed = true
	}
	if !p.headed && p.last {
		header()
	}
	fmt.Fprintf(b, `{"batch":{"writer":%q,"seq":%d,"entries":1}}`+"\n", p.name, p.seq)
	p.seq++
	if !p.headed {
		header()
	}
	for range 1 + rng.IntN(3) {
		if rng.IntN(8) == 0 { // a provider with another resource
			p.host += "'"
			header()
		}
		step := int64(len(hosts))
		e := &op.Entry{Step: op.Known(step), Operation: "relu", Kind: op.KindCompute, KindRule: op.RuleDefault,
			Service: "s"}
		hosts[step] = p.host
		if rng.IntN(8) == 0 {
			e.Attrs = []op.Attr{{Key: "host.name", Value: "own"}}
			hosts[step] = "own"
		}
		b.Write(append(e.AppendJSON(nil), '\n'))
		if rng.IntN(8) == 0 {
			b.WriteString("\n" + `{"span":{"name":"step","duration_ns":1}}` + "\n" + `{"gap":{"dropped":1}}` + "\n" +
				`{"later":1}` + "\n")
		}
	}
}

// At any part size and number of workers, entries have the attributes of their writers' resources.
func TestResourcesOfWriters(t *testing.T) {
	for seed := range cases.Numbers(t, 60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var b bytes.Buffer
		want := make(map[int64]string)
		if rng.IntN(2) == 0 {
			fmt.Fprintln(&b, `{"schema":"optrace.entries/v1"}`)
		}
		processes := make([]process, 1+rng.IntN(4))
		for i := range processes {
			processes[i] = process{name: fmt.Sprint("w", i), host: fmt.Sprint("h", i), last: rng.IntN(2) == 0}
		}
		for range 12 {
			processes[rng.IntN(len(processes))].write(rng, &b, want)
		}
		file := filepath.Join(t.TempDir(), "ops.jsonl")
		check.OK(t, os.WriteFile(file, b.Bytes(), 0o600))
		for _, size := range []int{64, 300, 1 << 20} {
			for _, workers := range []int{1, 3} {
				if diff := cmp.Diff(want, hostsOf(t, file, size, workers)); diff != "" {
					t.Fatalf("seed %d, parts of %d bytes, %d workers (-want +got):\n%s\n%s", seed, size, workers, diff,
						b.Bytes())
				}
			}
		}
	}
}

// The lookup goes from an operation to its scope and then to its resource.
func TestInheritedAttributes(t *testing.T) {
	m := new(attr.Mapping)
	for _, key := range []string{"a", "b", "c", "service.name", "tensor.rank"} {
		m.Keep(key)
	}
	for _, path := range []string{"testdata/inherited/otlp.json", "testdata/inherited/ops.jsonl"} {
		for rec, err := range (ingest.Options{Mapping: m}).Open(path).Records() {
			check.OK(t, err)
			if rec.Entry == nil {
				continue
			}
			var got []string
			for _, a := range rec.Entry.Attrs {
				got = append(got, a.Key+"="+a.Value)
			}
			slices.Sort(got)
			check.Equal(t, path, "a=own b=scope c=resource service.name=svc tensor.rank=3", strings.Join(got, " "))
		}
	}
}

type zipFile struct {
	name   string
	method uint16
	text   []byte
}

func zipped(t testing.TB, files ...zipFile) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w := check.Must(z.CreateHeader(&zip.FileHeader{Name: f.name, Method: f.method}))(t)
		check.Must(w.Write(f.text))(t)
	}
	check.OK(t, z.Close())
	return b.Bytes()
}

// Each file of an archive is an input by its own format.
func TestInputOfArchives(t *testing.T) {
	dir := t.TempDir()
	archive := zipped(t, zipFile{"b/trace.json.gz", zip.Store, check.Gzip(t, seedTrace)}, zipFile{"b/", zip.Store, nil},
		zipFile{"./a.jsonl", zip.Deflate, []byte(entryLine + entryLine)},
		zipFile{"README", zip.Deflate, []byte("about")},
		zipFile{"__MACOSX/._a.jsonl", zip.Deflate, []byte("x")}, zipFile{"b/.hidden", zip.Store, []byte("x")},
		zipFile{"c.parquet", zip.Store, nil})
	path := write(t, filepath.Join(dir, "runs.zip"), archive)
	var seen int
	for _, input := range []string{path, dir} {
		seen = 0
		in := ingest.Options{Progress: func(n int) { seen += n }}.Open(input)
		names, bad, err := read(in)
		check.OK(t, err)
		check.Equal(t, "operations", []string{"matmul", "matmul", "relu"}, names)
		if len(bad) != 1 || !strings.Contains(bad[0], "runs.zip/README: unknown format") {
			t.Errorf("bad records %q", bad)
		}
		s := in.Stats()
		if s.Files != 4 || int(s.Bytes) != seen || seen >= len(archive) || !cmp.Equal(s.Formats,
			[]string{"entries-jsonl", "trace-json"}) {
			t.Errorf("stats = %+v, progress told of %d bytes of %d", s, seen, len(archive))
		}
	}
	fsys := fstest.MapFS{"runs.zip": {Data: archive}}
	if got := find("runs.zip", ingest.Options{FS: fsys}); got.Entries != 3 || got.Err != nil {
		t.Errorf("of a file system: %+v", got)
	}
	got, n := inParts(t, ingest.Open(path, path), 1, 3)
	if strings.Count(got, "matmul") != 4 || n < 4 {
		t.Errorf("%d parts: %s", n, got)
	}
	write(t, filepath.Join(dir, "model.pt"), archive)
	if got := find(dir, ingest.Options{}); got.Entries != 3 || got.Malformed != 2 {
		t.Errorf("with a checkpoint: %+v", got)
	}
}

func TestArchivesThatAreRefused(t *testing.T) {
	good := zipped(t, zipFile{"a.jsonl", zip.Store, []byte(strings.Repeat(entryLine, 9))})
	// The directory names the file many times.
	end := bytes.LastIndex(good, []byte("PK\x05\x06"))
	directory := good[bytes.Index(good, []byte("PK\x01\x02")):end]
	overlapping := append(bytes.Clone(good[:end]), directory...)
	overlapping = append(overlapping, good[end:]...)
	tail := overlapping[len(overlapping)-len(good[end:]):]
	binary.LittleEndian.PutUint16(tail[8:], 2)
	binary.LittleEndian.PutUint16(tail[10:], 2)
	binary.LittleEndian.PutUint32(tail[12:], uint32(2*len(directory)))
	encrypted := bytes.Clone(good)
	encrypted[bytes.Index(good, []byte("PK\x01\x02"))+8] |= 1
	other := bytes.Clone(good)
	other[bytes.Index(good, []byte("PK\x01\x02"))+10] = 93
	for _, test := range []struct {
		name string
		text []byte
		want string
	}{
		{"cut off", good[:len(good)-40], "cut off or damaged"},
		{"no files", zipped(t, zipFile{"dir/", zip.Store, nil}), "a zip archive without files"},
		{"overlapping files", overlapping, "overlapping files"},
		{"encrypted", encrypted, "it is encrypted"},
		{"another method", other, "method, 93, is not supported"},
		{"an archive within", zipped(t, zipFile{"b.zip", zip.Store, good}), "unpack it"},
		{"a bomb", zipped(t, zipFile{"a.gz", zip.Deflate, check.Gzip(t, entryLine+strings.Repeat(" ", 65<<20))}),
			"times the size"},
	} {
		got := find(write(t, filepath.Join(t.TempDir(), "x.zip"), test.text), ingest.Options{})
		check.Says(t, test.name, test.want, got.Err)
	}
	got := find(ingest.Stdin, ingest.Options{Stdin: bytes.NewReader(good)})
	check.Says(t, "standard input", "unpack it", got.Err)
}

// Damage within a file of an archive is reported behind its good records.
func TestDamagedArchives(t *testing.T) {
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		good := zipped(t, zipFile{"a.jsonl", method, []byte(strings.Repeat(entryLine, 9))}, zipFile{"b.jsonl", method,
			[]byte(entryLine)})
		damaged := bytes.Clone(good)
		damaged[bytes.Index(good, []byte("a.jsonl"))+len("a.jsonl")+8] ^= 0x55
		got := find(write(t, filepath.Join(t.TempDir(), "x.zip"), damaged), ingest.Options{})
		if got.Err != nil || got.Malformed == 0 || got.Entries == 0 {
			t.Errorf("method %d: %+v", method, got)
		}
	}
}

// FuzzArchive checks that no archive makes the input panic, and that entries are valid.
func FuzzArchive(f *testing.F) {
	f.Add(zipped(f, zipFile{"a.jsonl", zip.Store, []byte(entryLine)}, zipFile{"b.gz", zip.Deflate, []byte(seedTrace)}))
	path := filepath.Join(f.TempDir(), "x.zip")
	f.Fuzz(func(t *testing.T, text []byte) {
		check.OK(t, os.WriteFile(path, text, 0o600))
		recordtest.Check(t, ingest.Open(path).Records())
	})
}

// randomTraces returns the spans of some resources and scopes, some with many spans.
func randomTraces(rng *rand.Rand) *tracepb.TracesData {
	return otlptest.RandomTraces(rng, 1+rng.IntN(6), 1<<rng.IntN(8))
}

// jsonDocuments returns a file of OTLP JSON documents, each on one line or spread over lines.
func jsonDocuments(t *testing.T, rng *rand.Rand) []byte {
	t.Helper()
	text := otlptest.MarshalJSON(t, randomTraces(rng))
	lines := bytes.Repeat(append(bytes.Clone(text), '\n'), rng.IntN(4)) // in front
	if rng.IntN(4) == 0 {
		text = fmt.Appendf(nil, `{"result":%s}`, text)
	}
	if rng.IntN(2) == 0 {
		var pretty bytes.Buffer
		check.OK(t, json.Indent(&pretty, text, "", []string{" ", "\t", "    "}[rng.IntN(3)]))
		text = pretty.Bytes()
	}
	return slices.Concat(lines, text, []byte("\n"))
}

// protoMessage returns an OTLP protobuf message without frames.
func protoMessage(t *testing.T, rng *rand.Rand) []byte {
	t.Helper()
	return check.Must(proto.Marshal(randomTraces(rng)))(t)
}

// damage changes a text a little: a byte, a missing end, or a foreign member.
func damage(rng *rand.Rand, text []byte) []byte {
	text = bytes.Clone(text)
	at := rng.IntN(len(text))
	switch rng.IntN(6) {
	case 0:
		text[at] = `"{}[],:x`[rng.IntN(8)]
	case 1:
		return text[:at]
	case 2:
		return bytes.Replace(text, []byte(`"name"`), []byte(`"\u006eame"`), rng.IntN(9))
	case 3:
		other := `"other":[{"traceId":"00","startTimeUnixNano":"1"},{"traceId":"00","startTimeUnixNano":"1"}],"status"`
		return bytes.Replace(text, []byte(`"status"`), []byte(other), rng.IntN(30))
	case 4:
		return bytes.Replace(text, []byte(`"scope"`), []byte(`"sc\u006fpe"`), rng.IntN(9))
	}
	return bytes.Replace(text, []byte(`"resource"`), []byte(`"other":0,"resource"`), rng.IntN(9))
}

// The parts of a document give the records of one pass, damaged or not. One pass looks only within its buffer for a
// second line.
func TestDocumentsInParts(t *testing.T) {
	testDocuments(t, func(t *testing.T, rng *rand.Rand) []byte {
		for {
			text := jsonDocuments(t, rng)
			if bytes.IndexByte(text, '\n') < 128<<10 {
				return text
			}
		}
	})
}

func TestMessagesInParts(t *testing.T) { testDocuments(t, protoMessage) }

func TestEntriesInParts(t *testing.T) {
	testDocuments(t, func(_ *testing.T, rng *rand.Rand) []byte { return []byte(lines(partsEntry, 1+rng.IntN(60))) })
}

func testDocuments(t *testing.T, documents func(t *testing.T, rng *rand.Rand) []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input")
	var shared, read int
	for seed := range cases.Numbers(t, 300) {
		read++
		rng := rand.New(rand.NewPCG(seed, 1))
		text := documents(t, rng)
		if rng.IntN(4) == 0 {
			text = append(text, documents(t, rng)...)
		}
		if rng.IntN(2) == 0 {
			text = damage(rng, text)
		}
		if rng.IntN(4) == 0 {
			text = check.Gzip(t, text)
			text = text[:len(text)-rng.IntN(2)*rng.IntN(len(text)-20)]
		}
		check.OK(t, os.WriteFile(path, text, 0o600))
		want := recordtest.Transcript(t, ingest.Open(path).Records())
		for _, size := range []int{1, 300, 2000} {
			got, n := inParts(t, ingest.Open(path), size, 2+rng.IntN(2))
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Fatalf("seed %d, parts of %d: (-want +got)\n%s", seed, size, diff)
			}
			if n > 1 {
				shared++
			}
		}
	}
	if shared == 0 || cases.All() && shared < read*2/3 {
		t.Errorf("%d readings in parts", shared)
	}
}

// frames returns length-prefixed frames, some of them damaged.
func frames(t *testing.T, rng *rand.Rand) []byte {
	t.Helper()
	var text []byte
	for range 2 + rng.IntN(20) {
		message := protoMessage(t, rng)
		frame := append([]byte{0, byte(len(message) >> 16), byte(len(message) >> 8), byte(len(message))}, message...)
		if rng.IntN(8) == 0 {
			frame = damage(rng, frame)
		}
		text = append(text, frame...)
	}
	return text
}

func TestFramesInParts(t *testing.T) { testDocuments(t, frames) }
