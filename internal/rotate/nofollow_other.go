//go:build !unix

package rotate

// noFollow does nothing here: the file that was opened is compared with the one
// that was found.
const noFollow = 0
