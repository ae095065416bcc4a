package ingest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/otlptest"
	"github.com/optrace/optrace/internal/testing/recordtest"
)

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
