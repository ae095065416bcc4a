package tracetest

import "fmt"

// Requests returns n requests, at most 255, each with ops operations, for benchmarks. The operations alternate between
// two devices, have launch times, and the request's number as their step.
func Requests(n, ops int) []Spec {
	names := []string{"layer_norm", "matmul", "softmax", "matmul", "gelu", "matmul", "add"}
	var specs []Spec
	at := int64(0)
	for i := range n {
		trace := byte(i + 1)
		start := at
		root := uint64(len(specs) + 1)
		for k := range ops {
			launch := at + 1_000
			at = launch + 3_000 + int64(k*7919%20_000)
			op := OpAt(names[k%len(names)], root+uint64(k)+1, root, launch+3_000, at).On(fmt.Sprint("cuda:", k%2))
			specs = append(specs, op.OnStream(7).LaunchedAt(launch).InStep(int64(i)).In(trace))
		}
		at += 5_000
		specs = append(specs, SpanAt("POST /predict", root, 0, start, at).In(trace))
	}
	return specs
}
