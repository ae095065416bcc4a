// Package kineto reads the traces that PyTorch's profiler (Kineto) writes, and other traces in Chrome's format.
//
// What ran on a device (kernels, copies, memory sets) and the operators that ran on the host become entries. A device
// entry is joined with the host's events about it: the runtime call that launched it, found by its correlation id,
// gives the launch time; the operator around that call, or failing that the operator of the same external id, gives the
// shapes and types of the inputs; the profiler step around the call gives the step. A backward operator has the name of
// the forward one by its number of autograd. The output of a convolution follows where its stride, padding and dilation
// are stated ("Concrete Inputs"); no event states the output of anything else.
//
// The operators of one thread nest: one that lies within another is its child. So that this is known wherever the
// entries go, the reader gives entries ids of a local trace ([opfile.LocalTraceID]), which are the same for the same
// content and differ from those of any other trace. What ran on a device has no parent.
//
// A trace states its time base, and sometimes its rank, behind the events, and a kernel may stand in front of its
// launch. Entries can therefore be made only once the document has ended. Until then each event is kept as one row of
// plain values: 52 bytes for a host operator or a runtime call, 72 for a device event, 20 more for an operator with a
// number of autograd and 128 more for a collective, with names, shapes and types held once. Rows are never copied, so
// that besides them a large trace takes little memory; its text, some 300 to 900 bytes per event, is not kept.
// [MaxHeldBytes] bounds the rows.
//
// An event is read in one pass over its text, its arguments included, and arguments that matter to nobody are checked
// and passed over. What is written in an unusual way, such as a key with escapes, is read by a lexer, to the same
// effect.
//
// Events of other categories are spans of a plain Chrome trace. Those whose arguments make them an operation by the
// rules of package op become entries at once, in constant memory, and so do pairs of begin and end events.
//
// The categories of Kineto that are structure are counted as skipped. A trace that is cut off is read up to there.
package kineto
