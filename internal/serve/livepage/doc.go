// Package livepage shows the operations that come in, on a page that keeps up with
// them: a [Window] holds the latest, and a [Page] is the http.Handler that reports on it.
//
// A window is bounded by the number of its operations and spans, by their age and by
// bytes. What falls out of it is counted and said in the head of the page. A report is
// computed from the window when somebody asks for it, not when an operation comes in,
// and at most so often that it takes a third of one processor's time.
//
// The command's serve and package live fill windows; package render/html makes the page.
package livepage
