// Package entries reads and writes the entries format, which is JSON Lines: a [Writer] appends
// records as package op does, a [Reader] reads them in constant memory.
package entries
