//go:build tree

package tree

import (
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/check"
)

// modelImports are the packages below the codecs of the model, and what these share.
var modelImports = []string{
	"op", "op/internal/decode", "internal/attrkey", "internal/attrmap", "internal/opfile", "internal/opmodel", "internal/jsontext",
	"internal/lineio", "internal/intern", "internal/budget",
}

// importRules says which packages of this module, and which others, a package
// may depend on, itself and the standard library aside. A rule holds for all
// packages below its key that have no rule of their own; one whose key ends in
// /... holds for these alone.
var importRules = map[string]struct {
	own     []string // packages of this module; a trailing /... includes those below
	foreign []string // module or package prefixes of others
}{
	"op":                  {own: []string{"internal/attrkey", "internal/jsontext"}},
	"internal/opfile":     {own: []string{"op", "internal/attrkey", "internal/opmodel", "internal/jsontext", "internal/budget"}},
	"internal/opmodel":    {own: []string{"op", "internal/attrkey", "internal/jsontext", "internal/budget"}},
	"internal/jsonstream": {own: []string{"op", "internal/attrkey", "internal/jsontext", "internal/lineio"}},
	"internal/marks":      {own: []string{"op", "internal/attrkey", "internal/jsontext"}},
	"internal/attrmap":    {own: []string{"op", "internal/attrkey", "internal/opmodel", "internal/jsontext", "internal/intern", "internal/budget"}},
	"op/attr":             {own: modelImports},
	"op/entries":          {own: modelImports},
	"op/seed":             {own: slices.Concat([]string{"internal/jsonstream"}, modelImports)},
	"op/internal/decode":  {own: modelImports},
	"internal/causes":     {own: slices.Concat([]string{"op/..."}, modelImports)},
	"internal/optest": {
		own:     []string{"op", "internal/attrkey", "internal/opmodel", "internal/jsontext", "internal/budget"},
		foreign: []string{"github.com/google/go-cmp"},
	},
	"tensorconv": {
		own:     []string{"op", "internal/attrkey", "internal/jsontext"},
		foreign: otelAPI,
	},
	"internal": {own: []string{"internal/..."}},
	"live": {
		own:     []string{"op/...", "tensorconv", "analyze/...", "render/...", "internal/..."},
		foreign: slices.Concat(openTelemetry, []string{"google.golang.org/protobuf", "golang.org/x/text"}),
	},
	"internal/livepage": {
		own:     []string{"op/...", "analyze/...", "render/...", "internal/..."},
		foreign: []string{"google.golang.org/protobuf", "golang.org/x/text"},
	},
	"internal/profilepush": {foreign: []string{"google.golang.org/protobuf"}},
	"internal/loopback":    {foreign: []string{"golang.org/x/net/netutil"}},
	"internal/recordtest": {
		own:     slices.Concat([]string{"op/...", "internal/check", "internal/golden", "internal/optest"}, modelImports),
		foreign: []string{"github.com/google/go-cmp"},
	},
	"internal/otlptest": {
		own:     []string{"internal/check"},
		foreign: []string{"go.opentelemetry.io/proto/otlp", "google.golang.org/protobuf"},
	},
	"internal/perfettotest": {own: []string{"internal/check"}, foreign: []string{"google.golang.org/protobuf"}},
	"internal/termtext":     {foreign: []string{"golang.org/x/text"}},
	"internal/spantest": {
		own:     []string{"op/...", "tensorconv", "ingest/...", "internal/..."},
		foreign: slices.Concat(openTelemetry, []string{"go.opentelemetry.io/proto/otlp", "google.golang.org/protobuf"}),
	},
	"internal/producer": {
		own:     []string{"op/...", "tensorconv", "deviceclock", "ingest/...", "internal/..."},
		foreign: slices.Concat([]string{module}, openTelemetry, []string{"go.opentelemetry.io/proto/otlp", "google.golang.org/protobuf"}),
	},
	"internal/shapes": {
		own:     []string{"op", "tensorconv", "internal/jsontext"},
		foreign: otelAPI,
	},
	"analyze": {own: []string{"op/...", "analyze/...", "internal/..."}, foreign: []string{"google.golang.org/protobuf"}},
	"ingest": {
		own:     []string{"op/...", "internal/...", "ingest/..."},
		foreign: []string{"github.com/klauspost/compress", "google.golang.org/protobuf"},
	},
	"render": {
		own:     []string{"op/...", "analyze/...", "internal/...", "render/..."},
		foreign: []string{"google.golang.org/protobuf", "golang.org/x/text"},
	},
	"parquet": {
		own: []string{"op/...", "ingest/...", "internal/...", "parquet/..."},
		foreign: []string{
			"github.com/parquet-go", "github.com/andybalholm/brotli", "github.com/google/uuid", "github.com/klauspost/compress",
			"github.com/pierrec/lz4", "github.com/twpayne/go-geom", "golang.org/x/sys", "google.golang.org/protobuf",
		},
	},
	"deviceclock": {},
	"":            {own: []string{"op", "op/attr", "tensorconv", "deviceclock", "internal/..."}, foreign: openTelemetry},
}

// otelAPI lists what those may use who record with a tracer of their own: the API without the SDK.
var otelAPI = []string{
	"go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/trace", "go.opentelemetry.io/otel/codes",
	"go.opentelemetry.io/otel/semconv",
	"github.com/cespare/xxhash",
}

// openTelemetry lists the modules that the plugin's side of the module may use:
// the SDK, and compression.
var openTelemetry = []string{
	"go.opentelemetry.io/otel", "go.opentelemetry.io/auto/sdk", "github.com/klauspost/compress",
	"github.com/go-logr", "github.com/google/uuid", "github.com/cespare/xxhash", "golang.org/x/sys",
}

// pluginImports says which packages of this module each package of the plugin
// imports at most. Every package stands below those that it imports.
var pluginImports = map[string][]string{
	"internal/span":      {"op/...", "internal/attrmap"},
	"internal/recent":    {},
	"internal/traces":    {"internal/recent", "internal/span", "op"},
	"internal/rotate":    {},
	"internal/observ":    {},
	"internal/env":       {},
	"internal/process":   {"tensorconv"},
	"internal/attrcache": {"internal/attrkey", "internal/span", "op"},
	"internal/shapes":    {"op", "tensorconv"},
	"internal/convert":   {"internal/span", "op", "op/attr", "internal/attrmap", "internal/jsontext", "internal/opmodel"},
	"internal/encoding":  {"internal/span", "internal/traces", "op", "op/attr", "internal/attrmap"},
	"internal/encoding/entries": {
		"internal/encoding", "internal/attrcache", "internal/attrmap", "internal/convert", "internal/jsontext", "internal/span",
		"internal/traces",
		"op", "op/attr",
	},
	"internal/encoding/otlp": {
		"internal/encoding", "internal/attrcache", "internal/jsontext", "internal/span", "internal/traces", "op", "op/attr", "internal/attrmap",
	},
	"internal/sink": {"internal/encoding", "internal/observ", "internal/rotate", "op"},
	"internal/pipeline": {
		"internal/attrmap", "internal/encoding", "internal/observ", "internal/sink", "internal/span", "internal/traces", "op", "op/attr",
	},
	"internal/prune": {"internal/attrkey", "internal/convert", "internal/recent", "internal/span", "internal/traces", "op", "tensorconv"},
}

// analysisImports says which packages below analyze, internal ones aside, each of them
// imports at most: the store below the analyses, and these below the report.
var analysisImports = map[string][]string{
	"key": {}, "flops": {}, "peaks": {}, "price": {}, "device": {"key"}, "work": {"flops", "peaks"},
	"trace":      {"device", "key", "work"},
	"timeline":   {"device", "key", "trace"},
	"collective": {"device", "trace"},
	"path":       {"collective", "device", "key", "timeline", "trace"},
	"launch":     {"device", "path", "timeline", "trace"},
	"clocks":     {"collective", "trace"},
	"steps":      {"device", "key", "timeline", "trace"},
	"requests":   {"collective", "device", "flops", "path", "timeline", "trace"},
	"sequences":  {"device", "timeline", "trace"},
	"suspects":   {"trace"},
	"stacks":     {"key", "timeline", "trace"},
	"operators":  {"key", "timeline", "trace", "work"},
	"engines":    {"key", "trace"},
	"seed":       {"stacks"},
	"findings": {
		"collective", "device", "engines", "key", "launch", "operators", "path", "peaks",
		"profile", "requests", "sequences", "steps", "suspects", "timeline",
		"trace", "work",
	},
	"profile": {"device", "key", "peaks", "seed", "trace", "work"},
}

func TestPluginImports(t *testing.T) {
	rules := maps.Clone(pluginImports)
	for pkg, allowed := range analysisImports {
		rule := []string{"op/...", "internal/...", "analyze/internal/..."}
		for _, other := range allowed {
			rule = append(rule, "analyze/"+other)
		}
		rules["analyze/"+pkg] = rule
	}
	all := goPackages(t)
	for pkg, allowed := range rules {
		found, ok := all[module+"/"+pkg]
		if !ok {
			t.Errorf("%s is not there", pkg)
			continue
		}
		for _, imported := range found.Imports {
			if own, ok := strings.CutPrefix(imported, module+"/"); ok && !matches(own, allowed) {
				t.Errorf("%s must not import %s", pkg, own)
			}
		}
	}
}

// forbidden lists what a package must never depend on, whatever its rule.
var forbidden = map[string]string{
	"cmd/optrace": "go.opentelemetry.io/otel/sdk",
	"tensorconv":  "go.opentelemetry.io/otel/sdk",
	"analyze":     "net/http",
	"render":      "net/http",
	"op":          "net/http",
}

// goCmp compares values in tests.
const goCmp = "github.com/google/go-cmp"

// testPackages are the packages that only tests, and one another, import.
var testPackages = []string{
	"internal/spantest", "internal/producer", "internal/golden",
	"internal/cases", "internal/check", "internal/fulldisk", "internal/recordtest", "internal/optest", "internal/otlptest",
	"internal/perfettotest", "analyze/internal/random", "analyze/internal/tracetest",
}

func TestImportRules(t *testing.T) {
	all := goPackages(t)
	for pkg, found := range all {
		rel, ok := found.own()
		if !ok {
			continue
		}
		deps := found.Deps
		for _, other := range testPackages {
			if !slices.Contains(testPackages, rel) && slices.Contains(deps, module+"/"+other) {
				t.Errorf("%s must not depend on %s, which is for tests", pkg, other)
			}
		}
		if bad, ok := forbidden[rel]; ok {
			for _, dep := range deps {
				if hasPrefix(dep, []string{bad}) {
					t.Errorf("%s must not depend on %s", pkg, dep)
				}
			}
		}
		key := rel
		for key != "" {
			if _, ok := importRules[key]; ok {
				break
			}
			key = strings.TrimPrefix(path.Dir(key), ".")
			if _, ok := importRules[key+"/..."]; ok {
				key += "/..."
				break
			}
		}
		if key == "" && rel != "" {
			continue // the command: anything above
		}
		rule := importRules[key]
		if _, ok := pluginImports[rel]; ok {
			rule = importRules[""]
		}
		for _, dep := range deps {
			if all[dep] == nil || all[dep].Standard || dep == pkg {
				continue
			}
			if own, ok := strings.CutPrefix(dep, module+"/"); ok {
				if !matches(own, rule.own) && own != rel {
					t.Errorf("%s must not depend on %s", pkg, dep)
				}
			} else if !hasPrefix(dep, rule.foreign) && !(hasPrefix(dep, []string{goCmp}) && slices.Contains(testPackages, rel)) {
				t.Errorf("%s must not depend on %s", pkg, dep)
			}
		}
	}
}

func matches(pkg string, rules []string) bool {
	for _, r := range rules {
		below, wild := strings.CutSuffix(r, "/...")
		if pkg == r || wild && (pkg == below || strings.HasPrefix(pkg, below+"/")) {
			return true
		}
	}
	return false
}

func hasPrefix(pkg string, prefixes []string) bool {
	for _, p := range prefixes {
		if pkg == p || strings.HasPrefix(pkg, p+"/") {
			return true
		}
	}
	return false
}

// Engines record with the API of OpenTelemetry only. The files that they need stay free of the SDK.
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
