package rotate

import (
	"os"
	"time"
)

// lock is an advisory lock on a file. It ends with the process at the latest. Processes that append to one file hold
// it from the inspection of its end until after the write. It is a courtesy: a process also writes without it, on a
// file system without locks or after a wait for a stopped holder.
type lock struct {
	held  bool
	pause time.Time // the time until which acquire does not wait, after a wait in vain
}

// lockWait bounds the wait for a lock. After a wait in vain there are only single tries for lockPause.
const (
	lockWait  = 200 * time.Millisecond
	lockPause = 10 * time.Second
)

func (l *lock) acquire(f *os.File) {
	if l.held {
		return
	}
	deadline := time.Now().Add(lockWait)
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, time.Millisecond) {
		locked, busy := tryLock(f)
		l.held = locked
		now := time.Now()
		switch {
		case !busy, now.Before(l.pause):
			return
		case now.After(deadline):
			l.pause = now.Add(lockPause)
			return
		}
		time.Sleep(pause)
	}
}
