// Package ort reads the profiles that ONNX Runtime writes: a JSON array of
// events in Chrome's format, and those of the category Node are the
// operations of a model.
//
// A node's event covers those of the nodes in its subgraphs (If, Loop, Scan).
// With a provider that works asynchronously, such as CUDA, it covers the time
// that the host took; kernels are counted as skipped. Times count from the
// start of the profile, for it does not say when that was.
package ort
