// Package requests finds requests, such as the server spans of HTTP requests, with the
// operations that ran for them.
//
// [Find] returns them, and the shared [Execution] of several, such as the step of a batching
// engine, whose time is divided among them. [Requests.Causes] divides a request's critical path
// by what it waited for, and [Slowest] describes the slowest request. Package correlate joins
// requests with the traces of services.
package requests
