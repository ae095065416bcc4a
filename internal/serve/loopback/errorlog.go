package loopback

import (
	"bytes"
	"fmt"
	"io"
	"log" //nolint:depguard // http.Server takes a log.Logger
	"strings"
	"sync"
	"time"
)

// errorPause is how long an errorLog waits after each line.
const errorPause = time.Minute

// errorLog takes the lines that an http.Server logs about broken connections, and writes one a minute. A line
// after others that were left out has their number. Panics of handlers are written at once. It is safe for concurrent use.
type errorLog struct {
	to io.Writer

	mu      sync.Mutex
	pause   *time.Timer // nil when a line may be written at once
	last    string
	omitted int
}

func (e *errorLog) logger() *log.Logger { return log.New(e, "", 0) }

// Write takes one line.
func (e *errorLog) Write(line []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if bytes.Contains(line, []byte("panic serving")) { // a fault of the program, with its stack
		return e.to.Write(line)
	}
	e.last = strings.TrimSpace(string(line))
	if e.pause != nil {
		e.omitted++
		return len(line), nil
	}
	e.print(e.last)
	e.pause = time.AfterFunc(errorPause, e.resume)
	return len(line), nil
}

// resume writes what was left out during the pause.
func (e *errorLog) resume() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pause == nil { // stopped
		return
	}
	e.pause = nil
	if e.printOmitted() {
		e.pause = time.AfterFunc(errorPause, e.resume)
	}
}

// stop writes what was left out, and ends the pause.
func (e *errorLog) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pause != nil {
		e.pause.Stop()
		e.pause = nil
	}
	e.printOmitted()
}

func (e *errorLog) printOmitted() bool {
	if e.omitted == 0 {
		return false
	}
	e.print(fmt.Sprintf("%s (the last of %d more in %v)", e.last, e.omitted, errorPause))
	e.omitted = 0
	return true
}

func (e *errorLog) print(line string) { fmt.Fprintln(e.to, line) }
