package main

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// output is where a command writes its result: standard output, or a file that
// replaces an existing one once it is complete. Writing is buffered.
type output struct {
	*bufio.Writer

	file *os.File
	// target is what file is renamed to; "" where file is written in place.
	target string
}

// createOutput opens path for writing; "" and "-" mean stdout.
func createOutput(path string, stdout io.Writer) (*output, error) {
	if path == "" || path == "-" {
		return &output{Writer: bufio.NewWriterSize(stdout, outputBuffer)}, nil
	}
	// Through a link it is the file behind it that is replaced, not the link.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		// A device or a pipe cannot be replaced; a directory fails here.
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("creating output: %w", err)
		}
		return &output{Writer: bufio.NewWriterSize(f, outputBuffer), file: f}, nil
	}
	f, err := createBeside(path)
	if err != nil {
		return nil, fmt.Errorf("creating output: %w", err)
	}
	return &output{Writer: bufio.NewWriterSize(f, outputBuffer), file: f, target: path}, nil
}

const outputBuffer = 64 << 10

// createBeside creates a new file in path's directory, with the permissions
// that the process gives to files.
func createBeside(path string) (*os.File, error) {
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()[:8]+".tmp")
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// commit completes the output.
func (o *output) commit() error {
	if err := o.Flush(); err != nil {
		o.discard()
		return fmt.Errorf("writing output: %w", err)
	}
	if o.file == nil {
		return nil
	}
	if err := o.file.Close(); err != nil {
		o.discard()
		return fmt.Errorf("writing output: %w", err)
	}
	if o.target == "" {
		return nil
	}
	if err := os.Rename(o.file.Name(), o.target); err != nil {
		o.discard()
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// discard gives the output up and leaves an existing file as it was.
func (o *output) discard() {
	if o.file == nil {
		return
	}
	// The command fails for another reason already.
	_ = o.file.Close()
	if o.target != "" {
		_ = os.Remove(o.file.Name())
	}
}
