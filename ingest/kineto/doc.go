// Package kineto reads the traces that PyTorch's profiler (Kineto) writes, and
// other traces in Chrome's format.
//
// What ran on a device (kernels, copies, memory sets) and the operators that
// ran on the host become entries. A device entry is joined with the host's
// events about it: the runtime call that launched it, found by its correlation id,
// gives the launch time; the operator around that call, or failing that the
// operator of the same external id, gives the shapes and types of the inputs;
// the profiler step around the call gives the step.
//
// The operators of one thread nest: one that lies within another is its child. So
// that this is known wherever the entries go, the reader gives entries ids of a local
// trace ([op.LocalTraceID]), which are the same for the same content and differ from
// those of any other trace. What ran on a device has no parent.
//
// A trace states its time base, and sometimes its rank, behind the events, and
// a kernel may stand in front of its launch. Entries can therefore be made only
// once the document has ended. Until then each event is kept as one row of a
// compact table, 52 bytes for a host operator, 32 for a runtime call and 72 for
// a device event, with names and shapes held once; the text of the trace, some
// 300 to 900 bytes per event, is not kept. [MaxHeldBytes] bounds
// the tables.
//
// Events of other categories are spans of a plain Chrome trace. Those whose
// arguments make them an operation by the rules of package op become entries
// at once, in constant memory, and so do pairs of begin and end events.
//
// The categories of Kineto that are structure are counted as skipped. A trace
// that is cut off is read up to there.
package kineto
