// Package entries reads and writes the entries format, which is JSON Lines. A [Writer] appends records in the form of
// package op, a [Reader] reads them in constant memory.
package entries
