// Package endsignal is what systems say about the signals that end a program:
// which there are, and how a process ends as if it had not handled one.
//
// Setup uses it; it handles no signals itself.
package endsignal
