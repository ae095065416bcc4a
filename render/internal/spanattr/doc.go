// Package spanattr maps an operation to the attributes of a span. Packages
// render/otlp and render/jaeger, which write spans, provide a [Sink] for their
// format; reading them back is the job of op.Builder.
package spanattr
