//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package rotate

import (
	"errors"
	"os"
	"syscall"
)

func tryLock(f *os.File) (locked, busy bool) {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	return err == nil, errors.Is(err, syscall.EWOULDBLOCK)
}

func unlock(f *os.File) { _ = flock(f, syscall.LOCK_UN) } // closing unlocks too

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
