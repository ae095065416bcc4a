//go:build !unix

package optrace

// noFollow is nothing here: what was opened is compared with what was found.
const noFollow = 0
