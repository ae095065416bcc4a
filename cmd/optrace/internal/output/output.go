// Package output writes a command's result to standard output, or to a file that is as private as the inputs and
// replaces an existing one once it is complete.
package output

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
)

// Produce opens the output at path, "" or "-" for standard output, and calls write to fill it. It completes the output
// if write succeeds and removes it otherwise. inputs are the inputs read by write. The error may be the verdict on a
// complete output.
//
// When ctx ends, Produce removes the output and returns at once. It does not wait for write, because a pipe may block
// it.
func Produce(ctx context.Context, s streams.Streams, path string, inputs []string, write func(*File) error) error {
	out, err := open(ctx, s, path)
	if err != nil {
		return err
	}
	if err = out.admit(s, inputs); err == nil {
		err = beside(ctx, s, func() error {
			if err := write(out); err != nil {
				return err
			}
			return writeError(out.Flush())
		})
	}
	if err == nil {
		err = writeError(out.commit())
	}
	if err != nil {
		out.discard()
		return err
	}
	if out.Done != nil {
		out.Done()
	}
	return out.Verdict
}

// beside calls f and returns its error, or the error of ctx as soon as it ends. f then goes on until the process ends.
func beside(ctx context.Context, s streams.Streams, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		streams.ClearLine(s.Err)
		return exit.Input(context.Cause(ctx))
	}
}

func writeError(err error) error {
	if err == nil {
		return nil
	}
	return exit.Output(fmt.Errorf("writing output: %w", err))
}

// File is the destination of a command's result. Writing is buffered.
type File struct {
	*bufio.Writer
	to io.Writer // behind Writer

	file   *os.File // nil for standard output
	target string   // the path that file is renamed to, "" if file is written in place
	// mode is the permissions of the target. The permissions of the inputs narrow those of a new target.
	mode     fs.FileMode
	Terminal bool  // set if the output is a terminal
	Verdict  error // the command's error about a complete output
	// Done is called once the output is complete; it may be nil.
	Done     func()
	existing fs.FileInfo // the regular file to write or replace, if it exists
}

func newWriter(w io.Writer) *bufio.Writer { return bufio.NewWriterSize(w, 64<<10) }

// To returns the output to w.
func To(w io.Writer) *File { return &File{Writer: newWriter(w), to: w} }

// Escape escapes control characters in all further output to a terminal.
func (o *File) Escape() {
	if o.Terminal {
		o.Reset(termtext.NewWriter(o.to))
	}
}

// open opens path for writing, "" or "-" for standard output.
func open(ctx context.Context, s streams.Streams, path string) (*File, error) {
	if path == "" || path == ingest.Stdin {
		o := To(s.Out)
		o.Terminal = streams.IsTerminal(s.Out)
		if f, ok := s.Out.(*os.File); ok {
			o.existing = regular(f.Stat())
		}
		return o, nil
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return openInPlace(ctx, s, path)
	}
	o := &File{existing: regular(info, err)}
	if err := o.create(path); err != nil {
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			err = &fs.PathError{Op: failed.Op, Path: path, Err: failed.Err} // without the temporary name
		}
		return nil, exit.Output(fmt.Errorf("creating output: %w", err))
	}
	return o, nil
}

// openInPlace opens a device or a named pipe, because these cannot be replaced; a directory fails here. Opening a pipe
// waits for its reader.
func openInPlace(ctx context.Context, s streams.Streams, path string) (*File, error) {
	var f *os.File
	err := beside(ctx, s, func() (err error) {
		if f, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
			err = exit.Output(fmt.Errorf("creating output: %w", err))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &File{Writer: newWriter(f), to: f, file: f, Terminal: streams.IsTerminal(f)}, nil
}

// create creates the temporary file that will replace path. Until it is complete only its owner can read it.
func (o *File) create(path string) error {
	o.target = followLinks(path)
	if o.existing != nil { // a rename would also replace a read-only file
		f, err := os.OpenFile(o.target, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_ = f.Close()
	}
	name := filepath.Join(filepath.Dir(o.target), "."+filepath.Base(o.target)+"."+rand.Text()[:8]+".tmp")
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	o.file = file
	o.Writer = newWriter(file)
	like := o.existing
	if like == nil {
		like, err = file.Stat() // permissions of a new file
	}
	if err == nil {
		o.mode = like.Mode().Perm()
		err = file.Chmod(0o600)
	}
	if err != nil {
		o.discard()
	}
	return err
}

// followLinks returns the target of a symbolic link, which need not exist: the output replaces the target, not the
// link.
func followLinks(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	next, err := os.Readlink(path)
	switch {
	case err != nil:
		return path // no link
	case filepath.IsAbs(next):
		return next
	}
	// Not filepath.Join: "link/.." is not the directory of a link.
	return filepath.Dir(path) + string(filepath.Separator) + next
}

// admit checks the existing inputs: the output must not be one of them, and only readers of all inputs may read it. A
// missing input is reported when it is read.
func (o *File) admit(s streams.Streams, inputs []string) error {
	for _, path := range inputs {
		var info fs.FileInfo
		if path != ingest.Stdin {
			info, _ = os.Stat(path)
		} else if f, ok := s.In.(*os.File); ok {
			info, _ = f.Stat()
		}
		if info != nil && o.Exclude(info) {
			return exit.Usagef("the output is the same file as the input %s; write to another file", path)
		}
	}
	return nil
}

// Exclude reports whether an existing file is the output. Any other file is an input and narrows the permissions of a
// new output, except for its owner. Pipes and devices do not.
func (o *File) Exclude(info fs.FileInfo) bool {
	if o.existing != nil && info.Mode().IsRegular() && os.SameFile(o.existing, info) {
		return true
	}
	if isNew := o.target != "" && o.existing == nil; isNew && (info.Mode().IsRegular() || info.IsDir()) {
		o.mode &= info.Mode().Perm() | 0o600
	}
	return false
}

func (o *File) commit() error {
	switch {
	case o.file == nil:
		return nil
	case o.target == "":
		return o.file.Close()
	}
	if err := o.file.Chmod(o.mode); err != nil {
		return err
	}
	if err := o.file.Close(); err != nil {
		return err
	}
	return os.Rename(o.file.Name(), o.target)
}

func (o *File) discard() {
	if o.file == nil {
		return
	}
	// The command already fails for another reason.
	_ = o.file.Close()
	if o.target != "" {
		_ = os.Remove(o.file.Name())
	}
}

// Wrote prints the number of operations in the complete file at path, and its size, on standard error; not for standard
// output, devices and pipes.
func Wrote(s streams.Streams, path string, operations int64) {
	info := regular(os.Stat(path))
	if info == nil || path == ingest.Stdin {
		return
	}
	fmt.Fprintf(s.Err, "wrote %s: %s, %s\n", termtext.Escape(path), units.Plural(operations, "operation"),
		units.Bytes(info.Size()))
}

// Screen returns standard output, if it is the output.
func (o *File) Screen(s streams.Streams) io.Writer {
	if o.file != nil {
		return nil
	}
	return s.Out
}

// regular returns the description of a regular file, nil for anything else.
func regular(info fs.FileInfo, err error) fs.FileInfo {
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return info
}

// JSON writes v as JSON fit for a terminal.
func JSON(w io.Writer, v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(termtext.EscapeJSON(text.Bytes()))
	return err
}
