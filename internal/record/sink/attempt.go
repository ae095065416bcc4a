package sink

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// attempts is how often a write is tried.
const attempts = 5

// writeRetrying writes p, after a pause once more where nothing was taken for a reason that passes,
// such as the full buffer of a socket.
func writeRetrying(w io.Writer, p []byte) (n int, err error) {
	pause := time.Millisecond
	for range attempts - 1 {
		n, err = writeRecovering(w, p)
		if n != 0 || !isTemporary(err) {
			return n, err
		}
		time.Sleep(pause)
		pause *= 2
	}
	return writeRecovering(w, p)
}

// isTemporary reports whether err says that it passes, as EINTR and EAGAIN do.
func isTemporary(err error) bool {
	temporary, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && temporary.Temporary()
}

// writeRecovering writes p and turns a panic of the writer into an error.
func writeRecovering(w io.Writer, p []byte) (n int, err error) {
	defer func() {
		if r := recover(); r != nil {
			n = 0
			err = fmt.Errorf("writer panicked: %v", r)
		}
	}()
	n, err = w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}
