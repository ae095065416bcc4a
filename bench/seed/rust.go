package seed

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/optrace/optrace/bench/measure"
)

//go:embed seed.rs
var source []byte

// build compiles the Rust program unless it is in the cache.
func build(ctx context.Context, env *measure.Env) (string, error) {
	rustc, err := exec.LookPath("rustc")
	if err != nil {
		return "", &measure.UnavailableError{Need: "rustc"}
	}
	_, version, err := measure.Command(ctx, 1, rustc, "--version")
	if err != nil {
		return "", &measure.UnavailableError{Need: "rustc that works: " + err.Error()}
	}
	key := crc32.ChecksumIEEE(append(version, source...))
	return env.Prepared(fmt.Sprintf("seed-%08x", key), func(path string) error {
		env.Log("compiling the Rust program")
		text := path + ".rs"
		if err := os.WriteFile(text, source, 0o644); err != nil {
			return err
		}
		_, _, err := measure.Command(ctx, 1, rustc, "-O", "-o", path, text)
		return err
	})
}

// program is the Rust program, waiting for requests.
type program struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// start starts it with a trace of n entries.
func start(ctx context.Context, path string, n int) (*program, error) {
	cmd := exec.CommandContext(ctx, path, strconv.Itoa(n), strings.Join(operations, ","), strings.Join(devices, ","))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &program{cmd, in, bufio.NewScanner(out)}, cmd.Start()
}

// run has the analyses run once and returns how long each took, in nanoseconds.
func (p *program) run() (ns [numAnalyses]float64, err error) {
	lines, err := p.ask("run")
	fields := strings.Fields(strings.Join(lines, " "))
	if err == nil && len(fields) != numAnalyses {
		err = fmt.Errorf("the Rust program answers %q", lines)
	}
	for i := range ns {
		if err == nil {
			ns[i], err = strconv.ParseFloat(fields[i], 64)
		}
	}
	return ns, err
}

// ask returns the lines of the program's answer to a request. That to "show" is what the
// analyses found.
func (p *program) ask(request string) (lines []string, err error) {
	if _, err := io.WriteString(p.in, request+"\n"); err != nil {
		return nil, fmt.Errorf("the Rust program: %w", err)
	}
	for p.out.Scan() {
		if p.out.Text() == "end" {
			return lines, nil
		}
		lines = append(lines, p.out.Text())
	}
	return nil, fmt.Errorf("the Rust program ended: %w", errors.Join(p.out.Err(), io.ErrUnexpectedEOF))
}

func (p *program) close() error {
	return errors.Join(p.in.Close(), p.cmd.Wait())
}
