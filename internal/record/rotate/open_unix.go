//go:build unix

package rotate

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// noFollow makes opening a symbolic link fail, and noWait opening a named pipe that nobody reads.
const (
	noFollow = syscall.O_NOFOLLOW
	noWait   = syscall.O_NONBLOCK
)

// nobodyReads reports whether err says that a named pipe has no reader.
func nobodyReads(err error) bool {
	return errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EPIPE)
}

// isPlanted reports whether another user may have put the file there for others to write to: it is in a
// directory in which all may create files, but not remove those of others, and belongs neither to this
// process nor to the owner of the directory.
func isPlanted(path string, file os.FileInfo) bool {
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return false
	}
	const everybody = 0o002
	if dir.Mode()&os.ModeSticky == 0 || dir.Mode().Perm()&everybody == 0 {
		return false
	}
	owner, ok := file.Sys().(*syscall.Stat_t)
	above, okAbove := dir.Sys().(*syscall.Stat_t)
	return ok && okAbove && int(owner.Uid) != os.Geteuid() && owner.Uid != above.Uid
}
