// Package traceevent reads the container of Chrome's tracing, shared by several profilers: a JSON array of events,
// alone or as the member traceEvents of an object. The writer defines the meaning of an event.
package traceevent
