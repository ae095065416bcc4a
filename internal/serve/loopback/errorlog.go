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

const errorPause = time.Minute

// errorLog takes the lines of an http.Server about broken connections, and writes one a minute with the number of
// omitted lines. Panics of handlers are written at once. It is safe for concurrent use.
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
	fmt.Fprintln(e.to, e.last)
	e.pause = time.AfterFunc(errorPause, e.resume)
	return len(line), nil
}

// resume writes the line omitted during the pause.
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

// stop writes the omitted line, and ends the pause.
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
	fmt.Fprintf(e.to, "%s (the last of %d more in %v)\n", e.last, e.omitted, errorPause)
	e.omitted = 0
	return true
}
