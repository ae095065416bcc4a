// Package kineto reads the traces of PyTorch's profiler (Kineto) and other traces in Chrome's format.
//
// Device events (kernels, copies, memory sets) and host operators become entries. The reader joins a device event with
// events of the host: the runtime call with its correlation id gives the launch time; the operator around that call, or
// else the operator with the same external id, gives the shapes and types of the inputs; the profiler step around the
// call gives the step. A backward operator has the name of its forward operator, by autograd's number. The stride,
// padding and dilation of a convolution ("Concrete Inputs") give its output shape; for other operators it is unknown.
//
// Runtime calls outside operators, and waits and allocations within them, are calls ([op.Record]). An event of cuda_sync has the stream
// or event that the call of its correlation id waits for. So are telling frames of Python, on threads with operators:
// those of 1 ms and more whose parts take less than half of that. Others are dropped as they are read.
//
// The operators of a thread nest: an operator within another is its child. Entries have ids of a local trace
// ([opfile.LocalTraceID]) to keep this structure. The trace id depends on the content alone and differs between traces.
// Device entries have no parent.
//
// A trace states its time base, and sometimes its rank, behind the events, and a kernel may precede its launch. The
// reader can therefore make entries only at the end of the document. Until then it keeps one row of plain values per
// event: 52 bytes for a host operator or a runtime call, 72 for a device event, 20 more for an operator with an
// autograd number and 128 more for a collective. Names, shapes and types are held once. Rows are never copied, and the
// text, some 300 to 900 bytes per event, is not kept. [MaxHeldBytes] bounds the rows.
//
// The reader passes once over the text of an event and its arguments. A lexer reads unusual texts, such as a key with
// escapes, to the same effect.
//
// A table knows operations of other profilers by the category and by the names of process and thread: JAX, TensorFlow,
// rocprof, unitrace and Ascend's msprof. These names precede the events. A start months away from most others is no
// time; the entry has the warning bad_time.
//
// Events of other categories are spans of a plain Chrome trace. If their arguments describe an operation by the rules
// of package op, they become entries at once, in constant memory. So do pairs of begin and end events.
//
// Structural categories are counted as skipped. A truncated trace is read up to its end.
package kineto
