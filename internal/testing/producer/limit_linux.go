package producer

import (
	"os/signal"
	"syscall"
)

// LimitFiles keeps this process from making files larger than most bytes: writes beyond fail in part, as on a disk that is
// full. It returns the limit before.
func LimitFiles(most uint64) (before uint64, err error) {
	signal.Ignore(syscall.SIGXFSZ)
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		return 0, err
	}
	before, l.Cur = l.Cur, most
	return before, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)
}
