// Package spanattr holds what the writers of spans, render/otlp and render/jaeger,
// share: the names of operations' spans, the ids of operations without any, and the
// trace state of sampled ones.
package spanattr
