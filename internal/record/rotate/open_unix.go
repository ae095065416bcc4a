//go:build unix

package rotate

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// noFollow makes the opening of a symbolic link fail, and noWait the opening of a named pipe without a reader.
const (
	noFollow = syscall.O_NOFOLLOW
	noWait   = syscall.O_NONBLOCK
)

func nobodyReads(err error) bool {
	return errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EPIPE)
}

// isPlanted reports whether another user may have put the file there for others to write to. The directory then lets
// everybody create files but not remove those of others, and the file belongs neither to this process nor to the
// directory's owner.
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
