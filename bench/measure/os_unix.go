//go:build unix

package measure

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// processCPU returns the processor time that the process has used so far.
func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // cannot fail with these arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakRSS returns the largest resident size in bytes of a process that has
// ended, where the kernel knows it. A process starts with the peak of the one
// that started it, so a lower one of its own does not show.
func peakRSS(s *os.ProcessState) (n int64, known bool) {
	u, ok := s.SysUsage().(*syscall.Rusage)
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); !ok || err != nil || u.Maxrss <= own.Maxrss {
		return 0, false
	}
	n = int64(u.Maxrss) //nolint:unconvert // not on every system
	if runtime.GOOS != "darwin" {
		n <<= 10 // others count in KiB
	}
	return n, true
}

// watchRSS looks at a process until done is closed and returns the largest
// resident size that it saw, 0 on a system without /proc. A peak in the last few
// milliseconds may be missed.
func watchRSS(p *os.Process, done <-chan struct{}) int64 {
	const interval = 2 * time.Millisecond
	path := "/proc/" + strconv.Itoa(p.Pid) + "/status"
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	peak := int64(0)
	for {
		select {
		case <-done:
			return peak
		case <-ticks.C:
			if status, err := os.ReadFile(path); err == nil {
				peak = max(peak, highWater(status))
			}
		}
	}
}

// highWater returns VmHWM of a process's status, in bytes.
func highWater(status []byte) int64 {
	_, rest, _ := bytes.Cut(status, []byte("\nVmHWM:"))
	if fields := bytes.Fields(rest); len(fields) > 0 {
		if kib, err := strconv.ParseInt(string(fields[0]), 10, 64); err == nil {
			return kib << 10
		}
	}
	return 0
}
