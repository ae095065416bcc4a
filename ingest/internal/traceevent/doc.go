// Package traceevent reads the container that Chrome's tracing introduced and
// that profilers share: a JSON array of events, alone or as the member
// traceEvents of an object. What events mean is up to those who wrote them.
package traceevent
