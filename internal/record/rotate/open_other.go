//go:build !unix

package rotate

import "os"

// noFollow and noWait do nothing here: the file that was opened is compared with
// the one that was found, and there are no named pipes in directories.
const noFollow, noWait = 0, 0

func nobodyReads(error) bool { return false }

func isPlanted(string, os.FileInfo) bool { return false }
