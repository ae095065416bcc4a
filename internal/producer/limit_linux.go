package producer

import (
	"os/signal"
	"syscall"
)

// limitFiles keeps this process from making files larger than most bytes, unless
// that is 0: writes beyond fail in part, as on a disk that is full.
func limitFiles(most uint64) error {
	if most == 0 {
		return nil
	}
	signal.Ignore(syscall.SIGXFSZ)
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		return err
	}
	l.Cur = most
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)
}
