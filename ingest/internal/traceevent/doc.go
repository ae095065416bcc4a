// Package traceevent reads the container that Chrome's tracing introduced and that profilers share: a JSON array of
// events, alone or as the member traceEvents of an object. The meaning of an event is up to its writer.
package traceevent
