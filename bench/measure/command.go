package measure

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"
)

// Command runs a program to its end and returns what it cost and printed. The
// error holds what it wrote to its standard error.
func Command(ctx context.Context, n int64, name string, args ...string) (Sample, []byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	start := time.Now()
	err := cmd.Run()
	s := Sample{N: n, Wall: time.Since(start)}
	if cmd.ProcessState != nil {
		s.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		s.RSS = peakRSS(cmd.ProcessState)
	}
	if err != nil {
		const most = 2000
		text := bytes.TrimSpace(problems.Bytes())
		err = fmt.Errorf("%s: %w: %s", name, err, text[:min(len(text), most)])
	}
	return s, out.Bytes(), err
}
