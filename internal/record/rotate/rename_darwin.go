package rotate

import "golang.org/x/sys/unix"

// rename renames a file unless the new name is taken.
func rename(from, to string) error { return unix.RenamexNp(from, to, unix.RENAME_EXCL) }
