package measure

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Command runs a program to its end and returns its cost and its output. The error
// holds its standard error. RSS is not known.
func Command(ctx context.Context, n int64, name string, args ...string) (Sample, []byte, error) {
	return command(ctx, n, nil, name, args...)
}

// CommandRSS is Command with RSS, for which it looks at the program while that runs.
func CommandRSS(ctx context.Context, n int64, name string, args ...string) (Sample, []byte, error) {
	return command(ctx, n, watchRSS, name, args...)
}

func command(ctx context.Context, n int64, watch func(*os.Process, <-chan struct{}) int64, name string, args ...string) (
	Sample, []byte, error,
) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	s := Sample{N: n}
	start := time.Now()
	err := cmd.Start()
	if err == nil {
		done, peak := make(chan struct{}), make(chan int64, 1)
		if watch != nil {
			go func() { peak <- watch(cmd.Process, done) }()
		}
		err = cmd.Wait()
		s.Wall = time.Since(start)
		s.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		close(done)
		if watch != nil {
			s.RSS = <-peak
			if exact, known := peakRSS(cmd.ProcessState); known {
				s.RSS = exact
			}
		}
	}
	if err != nil {
		const most = 2000
		text := bytes.TrimSpace(problems.Bytes())
		err = fmt.Errorf("%s: %w: %s", name, err, text[:min(len(text), most)])
	}
	return s, out.Bytes(), err
}
