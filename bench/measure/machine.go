package measure

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine says where and how the figures were measured.
type Machine struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPU   string `json:"cpu,omitempty"`
	CPUs  int    `json:"cpus"`
	Go    string `json:"go"`
	GOGC  string `json:"gogc"`
	Quick bool   `json:"quick"`
}

// ThisMachine describes the machine and the process.
func ThisMachine(quick bool) Machine {
	return Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuModel(), CPUs: runtime.NumCPU(), Go: runtime.Version(),
		GOGC: cmp.Or(os.Getenv("GOGC"), "100"), Quick: quick,
	}
}

// String describes the machine in a line.
func (m Machine) String() string {
	quick := ""
	if m.Quick {
		quick = "; quick run"
	}
	return fmt.Sprintf("%s on %s/%s, %s, %d CPUs, GOGC %s%s", m.Go, m.OS, m.Arch, m.CPU, m.CPUs, m.GOGC, quick)
}

// cpuModel returns the processor's name where the system has it.
func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := strings.Cut(string(text), "\nmodel name")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Trim(line, "\t: ")
}
