package loopback

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/optrace/optrace/internal/testing/check"
)

// Broken connections cost one line a minute, and each is counted.
func TestErrorLogIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		e := errorLog{to: &out}
		logger := e.logger()
		expect := func(what, want string) {
			t.Helper()
			synctest.Wait()
			e.mu.Lock() // guards out
			defer e.mu.Unlock()
			check.Equal(t, what, want, out.String())
			out.Reset()
		}
		for range 80 {
			logger.Print("http2: bad preface")
		}
		expect("at first", "http2: bad preface\n")
		time.Sleep(errorPause)
		expect("after a minute", "http2: bad preface (the last of 79 more in 1m0s)\n")
		time.Sleep(errorPause)
		expect("after a quiet minute", "")
		logger.Print("one")
		logger.Print("two")
		expect("then", "one\n")
		logger.Print("http: panic serving 127.0.0.1:1: boom")
		expect("a panic", "http: panic serving 127.0.0.1:1: boom\n")
		e.stop()
		expect("at the end", "two (the last of 1 more in 1m0s)\n")
		time.Sleep(2 * errorPause)
		expect("after the end", "")
	})
}
