// Package engine compares whole processes: the command optrace with an
// analytical database that answers the same question about the same file.
package engine
