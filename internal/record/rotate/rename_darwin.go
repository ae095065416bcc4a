package rotate

import "golang.org/x/sys/unix"

// rename renames a file, unless there is one under the new name.
func rename(from, to string) error { return unix.RenamexNp(from, to, unix.RENAME_EXCL) }
