// Package autoexport makes programs record their operations that are set up from outside: by
// environment variables, or by a file of OpenTelemetry's declarative configuration.
//
// A program that takes its exporter from go.opentelemetry.io/contrib/exporters/autoexport
// imports this package for its effect:
//
//	import _ "github.com/optrace/optrace/contrib/autoexport"
//
// The variable OTEL_TRACES_EXPORTER may then be "optrace", which writes operations to the
// file that OPTRACE_FILE names, or "optrace+otlp", which sends all spans by OTLP besides,
// as the OTEL_EXPORTER_OTLP_ variables say: to a receiver without TLS, such as optrace serve,
// with OTEL_EXPORTER_OTLP_INSECURE=true. The names are registered once for the program;
// another package that registers them makes it panic.
//
// A program that is configured by go.opentelemetry.io/contrib/otelconf calls [NewSDK] of
// this package in place of that one. The part "optrace" of the section "distribution" of
// the file says what is recorded:
//
//	distribution:
//	  optrace:
//	    file: ops.jsonl
//	tracer_provider:
//	  processors: []
//
// The sampler decides what is recorded: operations of unsampled traces are not in the file, which names
// the sampler where [NewSDK] made the provider. [optrace.Setup] records them all.
//
// testdata/otel.yaml has all that there may be. A program that uses otelconf itself reads
// the same file and passes that section over.
//
// The package is a module of its own: what it depends on is more than all of optrace does.
// From a clone it takes two replacements:
//
//	go mod edit -replace github.com/optrace/optrace=CLONE
//	go mod edit -replace github.com/optrace/optrace/contrib/autoexport=CLONE/contrib/autoexport
//	go mod tidy
package autoexport
