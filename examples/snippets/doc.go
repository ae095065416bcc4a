// Package snippets has programs in other languages that record operations by the
// conventions of docs/conventions.md, and tests that run them. See README.md.
package snippets
