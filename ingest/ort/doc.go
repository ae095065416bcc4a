// Package ort reads the profiles that ONNX Runtime writes: a JSON array of events in Chrome's format. Those of the
// category Node are the operations of a model, those of the category Kernel what they launched on a GPU.
//
// A run of the model (model_run) is a trace of its own and its root, so that it counts as a request; what the session
// does before its first run is skipped. What lies within another event of its thread in time is below that: nodes in
// the executor's, and those of a subgraph in the node that runs it (If, Loop, Scan). Nodes on threads of a pool are
// below the run that was under way. A run is held until it is whole.
//
// A kernel stands behind its node and repeats its operation. Nodes of a provider that launches kernels are the host's
// view, of side "host"; where no kernels were recorded (CUDA without its profiler, DirectML) the time of a node is that
// of the host's call, for lack of a better one. Providers of one device are one device: XNNPACK and oneDNN the CPU.
// Times count from the start of the profile, for it does not say when that was.
package ort
