// Package ort reads the profiles of ONNX Runtime: a JSON array of events in Chrome's format. Events of the category
// Node are the operations of a model, events of the category Kernel their work on a GPU.
//
// A run of the model (model_run) is a trace with the run as its root, so that it counts as a request. Events of the
// session before its first run are skipped. An event within another event of its thread is its child: nodes within the
// executor, nodes of a subgraph within the node that runs it (If, Loop, Scan). Nodes on pool threads are children of
// the current run. The reader holds a run until it is complete.
//
// A kernel follows its node and repeats its operation. Nodes of a provider with kernels are the host's view, of side
// "host". Without recorded kernels (CUDA without its profiler, DirectML) the time of a node is the time of the host's
// call. Providers of one device count as one device: XNNPACK and oneDNN are the CPU. Times start at 0: a profile does
// not state when it began.
package ort
