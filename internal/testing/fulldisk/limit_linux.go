package fulldisk

import (
	"os/signal"
	"syscall"
)

// LimitFiles limits the size of files written by this process. Writes beyond it fail in part, as on a
// full disk. It returns the previous limit.
func LimitFiles(most uint64) (before uint64, err error) {
	signal.Ignore(syscall.SIGXFSZ)
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		return 0, err
	}
	before = l.Cur
	l.Cur = most
	return before, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)
}
