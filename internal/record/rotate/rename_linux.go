package rotate

import "golang.org/x/sys/unix"

// rename renames a file unless the new name is taken.
func rename(from, to string) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
}
