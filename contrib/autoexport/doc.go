// Package autoexport records the operations of programs configured by environment variables.
//
// A program that uses go.opentelemetry.io/contrib/exporters/autoexport imports this package for its effect:
//
//	import _ "github.com/optrace/optrace/contrib/autoexport"
//
// OTEL_TRACES_EXPORTER=optrace then writes operations to the file OPTRACE_FILE. OTEL_TRACES_EXPORTER=optrace+otlp also
// sends all spans by OTLP, configured by the OTEL_EXPORTER_OTLP_ variables: a receiver without TLS, such as optrace
// serve, needs OTEL_EXPORTER_OTLP_INSECURE=true. The package registers both names once; it panics if another package
// has registered them.
//
// The file has the operations of sampled traces only. [optrace.Setup] records all operations.
//
// The package is a module of its own because of its many dependencies. From a clone it needs two replacements:
//
//	go mod edit -replace github.com/optrace/optrace=CLONE
//	go mod edit -replace github.com/optrace/optrace/contrib/autoexport=CLONE/contrib/autoexport
//	go mod tidy
package autoexport
