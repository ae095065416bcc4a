//go:build tree

package tree

import (
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// importRules lists the allowed dependencies of packages below a path, besides the standard library. The
// longest matching path decides.
var importRules = map[string]struct {
	own     []string // paths of this module, with all packages below
	foreign []string // paths of other modules
}{
	"op":         {own: []string{"internal/text/scalar", "internal/model/attrkey", "internal/model/unmarshal"}},
	"op/attr":    {own: codecs},
	"op/entries": {own: codecs},
	"tensorconv": {own: []string{"op", "internal/text/scalar", "internal/model/attrkey", "internal/model/unmarshal"},
		foreign: otelAPI},
	"deviceclock": {},
	"internal/text": {own: []string{"op", "internal/model/attrkey", "internal/model/unmarshal", "internal/text"},
		foreign: []string{"golang.org/x/text"}},
	"internal/model": {own: codecs},
	"internal/read":  {own: slices.Concat(codecs, []string{"internal/read/marks"})},
	"internal/record": {
		own: []string{"op", "tensorconv", "internal/record", "internal/model", "internal/text",
			"internal/read/budget"},
		foreign: openTelemetry,
	},
	"internal/serve": {
		own: []string{"op", "analyze", "render", "ingest", "internal/model", "internal/text",
			"internal/read", "internal/serve"},
		foreign: slices.Concat(encoders, compression, []string{"golang.org/x/net/netutil"}),
	},
	"internal/testing": {
		own:     []string{"op", "tensorconv", "deviceclock", "ingest", "internal"},
		foreign: slices.Concat(openTelemetry, encoders, []string{module, goCmp, "go.opentelemetry.io/proto/otlp"}),
	},
	"live": {
		own:     []string{"op", "tensorconv", "analyze", "render", "ingest", "internal"},
		foreign: slices.Concat(openTelemetry, encoders),
	},
	"analyze": {
		own:     []string{"op", "analyze", "ingest", "internal/model", "internal/text", "internal/read"},
		foreign: slices.Concat(encoders, compression),
	},
	"ingest": {
		own:     []string{"op", "ingest", "internal/model", "internal/text", "internal/read"},
		foreign: slices.Concat(encoders, compression),
	},
	"render": {
		own:     []string{"op", "analyze", "render", "ingest", "internal/model", "internal/text", "internal/read"},
		foreign: slices.Concat(encoders, compression),
	},
	"parquet": {
		own: []string{"op", "ingest", "parquet", "internal/release", "internal/model", "internal/text",
			"internal/read"},
		foreign: []string{
			"github.com/parquet-go", "github.com/andybalholm/brotli", "github.com/google/uuid",
			"github.com/klauspost/compress",
			"github.com/pierrec/lz4", "github.com/twpayne/go-geom", "golang.org/x/sys", "google.golang.org/protobuf",
		},
	},
	"": {
		own: []string{"op", "tensorconv", "deviceclock", "internal/record", "internal/model", "internal/text",
			"internal/read/budget"},
		foreign: openTelemetry,
	},
}

// codecs are the packages around the model, with their texts and bounds.
var codecs = []string{"op", "internal/model", "internal/text", "internal/read/budget"}

// encoders are libraries for messages and texts.
var encoders = []string{"google.golang.org/protobuf", "golang.org/x/text"}

// compression is the library for gzip and zstd.
var compression = []string{"github.com/klauspost/compress"}

// otelAPI is OpenTelemetry's API without its SDK, for programs with their own tracer.
var otelAPI = []string{
	"go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/trace", "go.opentelemetry.io/otel/codes",
	"go.opentelemetry.io/otel/semconv", "github.com/cespare/xxhash",
}

// openTelemetry is the SDK with its dependencies, and compression.
var openTelemetry = []string{
	"go.opentelemetry.io/otel", "go.opentelemetry.io/auto/sdk", "github.com/klauspost/compress",
	"github.com/go-logr", "github.com/google/uuid", "github.com/cespare/xxhash", "golang.org/x/sys",
}

// analysisImports lists the allowed imports of packages below analyze, besides internal ones: the store
// below the analyses, and these below the report.
var analysisImports = map[string][]string{
	"key": {}, "flops": {}, "peaks": {}, "price": {}, "device": {"key"}, "work": {"flops", "peaks"},
	"trace":      {"device", "key", "work"},
	"timeline":   {"device", "key", "trace"},
	"collective": {"device", "trace"},
	"path":       {"collective", "device", "key", "timeline", "trace"},
	"launch":     {"device", "path", "timeline", "trace"},
	"clocks":     {"collective", "trace"},
	"steps":      {"device", "key", "timeline", "trace"},
	"requests":   {"collective", "device", "engines", "flops", "key", "path", "timeline", "trace"},
	"sequences":  {"device", "timeline", "trace"},
	"suspects":   {"trace"},
	"stacks":     {"key", "timeline", "trace"},
	"operators":  {"key", "timeline", "trace", "work"},
	"engines":    {"key", "trace"},
	"seed":       {"stacks"},
	"findings": {
		"clocks", "collective", "device", "engines", "key", "launch", "operators", "path", "peaks", "profile",
		"replay",
		"requests", "sequences", "steps", "suspects", "timeline", "trace", "work",
	},
	"headline": {"device", "engines", "key", "peaks", "profile", "requests", "steps", "work"},
	"profile":  {"device", "key", "peaks", "seed", "trace", "work"},
}

func TestAnalysesStandInOrder(t *testing.T) {
	all := goPackages(t)
	for pkg, below := range analysisImports {
		allowed := []string{"op", "internal", "analyze/internal", "analyze/" + pkg}
		for _, other := range below {
			allowed = append(allowed, "analyze/"+other)
		}
		found, ok := all[module+"/analyze/"+pkg]
		if !ok {
			t.Errorf("analyze/%s is not there", pkg)
			continue
		}
		for _, imported := range found.Imports {
			if own, ok := strings.CutPrefix(imported, module+"/"); ok && !hasPrefix(own, allowed) {
				t.Errorf("analyze/%s must not import %s", pkg, own)
			}
		}
	}
}

// Below analyze only the root package and diff read files themselves.
func TestAnalysesDoNotReadFiles(t *testing.T) {
	for pkg, found := range goPackages(t) {
		own, ok := strings.CutPrefix(pkg, module+"/")
		if !ok || !hasPrefix(own, []string{"analyze"}) || own == "analyze" || own == "analyze/diff" {
			continue
		}
		if slices.Contains(found.Imports, module+"/ingest") {
			t.Errorf("%s must not import ingest", own)
		}
	}
}

// forbidden lists forbidden dependencies, regardless of the rules.
var forbidden = map[string]string{
	"cmd/optrace": "go.opentelemetry.io/otel/sdk",
	"tensorconv":  "go.opentelemetry.io/otel/sdk",
	"analyze":     "net/http",
	"render":      "net/http",
	"op":          "net/http",
}

// goCmp compares values in tests.
const goCmp = "github.com/google/go-cmp"

// testPackages are the paths of packages for tests.
var testPackages = []string{"internal/testing", "analyze/internal/tracetest"}

func TestImportRules(t *testing.T) {
	all := goPackages(t)
	for pkg, found := range all {
		rel, ok := found.own()
		if !ok {
			continue
		}
		key := rel
		for _, ok := importRules[key]; !ok && key != ""; _, ok = importRules[key] {
			key = strings.TrimPrefix(path.Dir(key), ".")
		}
		forTests := hasPrefix(rel, testPackages)
		rule := importRules[key]
		for _, dep := range found.Deps {
			if all[dep] == nil || all[dep].Standard || dep == pkg {
				continue
			}
			own, ok := strings.CutPrefix(dep, module+"/")
			bad, forbidding := forbidden[rel]
			switch {
			case ok && hasPrefix(own, testPackages):
				if !forTests {
					t.Errorf("%s must not depend on %s, a package for tests", pkg, dep)
				}
			case forbidding && hasPrefix(dep, []string{bad}):
				t.Errorf("%s must not depend on %s", pkg, dep)
			case key == "" && rel != "": // commands may depend on all packages
			case ok && !hasPrefix(own, rule.own), !ok && !hasPrefix(dep, rule.foreign) &&
				!(forTests && hasPrefix(dep, []string{goCmp})):
				t.Errorf("%s must not depend on %s", pkg, dep)
			}
		}
	}
}

func hasPrefix(pkg string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return pkg == p || strings.HasPrefix(pkg, p+"/") })
}

// Engines record with the API of OpenTelemetry only. Their files stay free of the SDK.
func TestRecordingWithoutSDK(t *testing.T) {
	for _, name := range []string{"tracer.go", "op.go", "prepared.go", "recorder.go"} {
		f := check.Must(parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly))(t)
		for _, spec := range f.Imports {
			if strings.HasPrefix(spec.Path.Value, `"go.opentelemetry.io/otel/sdk`) {
				t.Errorf("%s imports %s", name, spec.Path.Value)
			}
		}
	}
}
