// Package livepage shows incoming operations on a page that stays up to date: a [Window] holds the latest ones, and a
// [Page] is the http.Handler that reports on it.
//
// The number of operations and spans, their age and bytes bound a window. The head of the page counts records that fell
// out. A report is computed on request, not for each operation, and takes at most a third of one processor's time.
//
// The command's serve and package live fill windows; package render/html makes the page.
package livepage
