package otlptest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/internal/testing/check"
)

// idMember matches an id in OTLP's JSON. Unlike in protobuf's JSON, ids are hexadecimal there.
var idMember = regexp.MustCompile(`"(?:traceId|spanId|parentSpanId)":\s*"([^"\\]*)"`)

// TracesJSON parses a document of OTLP in JSON. Unknown fields are errors.
func TracesJSON(tb testing.TB, document []byte) *tracepb.TracesData {
	tb.Helper()
	traces := new(tracepb.TracesData)
	text := respelled(tb, document, hex.DecodeString, base64.StdEncoding.EncodeToString)
	if err := protojson.Unmarshal(text, traces); err != nil {
		tb.Fatalf("not OTLP in JSON: %v\n%s", err, document)
	}
	return traces
}

// MarshalJSON returns a message in OTLP's JSON.
func MarshalJSON(tb testing.TB, m proto.Message) []byte {
	tb.Helper()
	text := check.Must(protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(m))(tb)
	var compact bytes.Buffer // the library adds random spaces
	check.OK(tb, json.Compact(&compact, text))
	return respelled(tb, compact.Bytes(), base64.StdEncoding.DecodeString, hex.EncodeToString)
}

// respelled returns a document with its ids in another encoding.
func respelled(tb testing.TB, document []byte, from func(string) ([]byte, error), to func([]byte) string) []byte {
	tb.Helper()
	var out []byte
	at := 0
	for _, m := range idMember.FindAllSubmatchIndex(document, -1) {
		id, err := from(string(document[m[2]:m[3]]))
		if err != nil {
			tb.Fatalf("%s: %v", document[m[0]:m[1]], err)
		}
		out = append(append(out, document[at:m[2]]...), to(id)...)
		at = m[3]
	}
	return append(out, document[at:]...)
}
