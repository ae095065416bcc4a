package sink

import (
	"errors"
	"fmt"
	"io"
	"time"
)

const attempts = 5

// writeRetrying writes p. It tries again after a temporary error without a written byte.
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

// isTemporary reports whether err is temporary, such as EINTR or EAGAIN.
func isTemporary(err error) bool {
	temporary, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && temporary.Temporary()
}

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
