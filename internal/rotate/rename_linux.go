package rotate

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew renames a file, unless there is one under the new name.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOTSUP):
		return renameReserved(from, to) // not on this file system
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}
