// Package requests finds requests, such as the server spans of HTTP requests, and their operations.
//
// [Find] returns them with the shared [Execution] of several requests, such as the step of a batching engine. The time
// of an execution is divided among its requests. [Requests.Causes] divides a request's critical path by cause, and
// [Slowest] describes the slowest request. Package correlate joins requests with the traces of services.
package requests
