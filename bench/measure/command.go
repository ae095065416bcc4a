package measure

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Command runs a program to its end and returns its cost and its output. The error
// holds its standard error.
func Command(ctx context.Context, n int64, name string, args ...string) (Sample, []byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	s := Sample{N: n}
	start := time.Now()
	err := cmd.Start()
	if err == nil {
		done, peak := make(chan struct{}), make(chan int64, 1)
		go func() { peak <- watchRSS(cmd.Process.Pid, done) }()
		err = cmd.Wait()
		s.Wall = time.Since(start)
		s.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		close(done)
		s.RSS = <-peak
	}
	if err != nil {
		const most = 2000
		text := bytes.TrimSpace(problems.Bytes())
		err = fmt.Errorf("%s: %w: %s", name, err, text[:min(len(text), most)])
	}
	return s, out.Bytes(), err
}

// watchRSS looks at a process until done is closed and returns the largest
// resident size that it saw, 0 on a system without /proc. A peak in the last few
// milliseconds may be missed.
func watchRSS(pid int, done <-chan struct{}) int64 {
	const interval = 5 * time.Millisecond
	path := "/proc/" + strconv.Itoa(pid) + "/status"
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	peak := int64(0)
	for {
		select {
		case <-done:
			return peak
		case <-ticks.C:
			status, _ := os.ReadFile(path) // there is none once it has ended
			_, rest, _ := strings.Cut(string(status), "\nVmHWM:")
			kib := int64(0)
			_, _ = fmt.Sscan(rest, &kib)
			peak = max(peak, kib<<10)
		}
	}
}
