package otlp_test

import (
	"slices"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/check"
)

// S7: files of other signals in protobuf are told from spans, and named.
func TestS7SignalsInProtobuf(t *testing.T) {
	scope := &commonpb.InstrumentationScope{Name: "x"}
	marshal := func(m proto.Message) []byte {
		return check.Must(proto.Marshal(m))(t)
	}
	field := func(number protowire.Number, parts ...[]byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), slices.Concat(parts...))
	}
	fixed := protowire.AppendFixed64(protowire.AppendTag(nil, 3, protowire.Fixed64Type), 17) // time_unix_nano
	profile := field(2, field(1, []byte{8, 1, 16, 2}), fixed, []byte{4 << 3, 5})             // sample_type, duration_nano
	profiles := field(1, field(2, field(1, marshal(scope)), profile))
	dictionary := field(2, field(5), field(5, []byte("time")))
	for _, test := range []struct {
		name, signal string
		text         []byte
		records      int
	}{
		{"logs", "logs", marshal(&logspb.LogsData{ResourceLogs: []*logspb.ResourceLogs{{
			ScopeLogs: []*logspb.ScopeLogs{{LogRecords: []*logspb.LogRecord{{TimeUnixNano: 17, SeverityNumber: 9}}}},
		}}}), 1},
		{"metrics", "metrics", marshal(&metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{
			ScopeMetrics: []*metricspb.ScopeMetrics{{Scope: scope, Metrics: []*metricspb.Metric{{
				Name: "http.server.duration", Unit: "s", Data: &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{}},
			}}}},
		}}}), 1},
		{"profiles", "profiles", profiles, 1},
		{"profiles and dictionary", "profiles", slices.Concat(profiles, dictionary), 2},
		{"dictionary first, as pdata writes it", "profiles", slices.Concat(dictionary, profiles), 2},
	} {
		want := slices.Repeat([]string{"{Reason:other_signal N:1 Signal:" + test.signal + "}"}, test.records)
		for format, text := range map[string][]byte{"raw": test.text, "frames": framed(test.text)} {
			if got := read(readers[format], text); !slices.Equal(got.Records, want) || len(got.Bad) > 0 || got.Err != "" {
				t.Errorf("%s, %s: %+v", test.name, format, got)
			}
			if otlp.Sniff(text) == otlp.FramingNone {
				t.Errorf("%s, %s: no framing", test.name, format)
			}
		}
	}
}
