package rotate

import (
	"os"
	"time"
)

// lock is an advisory lock on a file, which ends at the latest with the process. Processes that append
// to one file hold it from their look at its end until they have written. It is a courtesy: where the
// file system has none, or its holder has been stopped, a process writes all the same.
type lock struct {
	held bool
	// pause is until when the lock is not waited for, because that was in vain.
	pause time.Time
}

// lockWait bounds the wait for a lock; after a wait in vain it is only tried for lockPause.
const (
	lockWait  = 200 * time.Millisecond
	lockPause = 10 * time.Second
)

// acquire takes the lock on f.
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
