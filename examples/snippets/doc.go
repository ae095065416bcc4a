// Package snippets has programs in other languages that record operations by the conventions, and their tests. See
// README.md.
package snippets
