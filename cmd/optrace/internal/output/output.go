// Package output has the destination of a command's result: standard output, or a file that is as private as
// the inputs and replaces an existing one once it is complete.
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

// Produce opens the output at path, "" or "-" for standard output, and calls
// write to fill it. The output is completed if write succeeds and removed
// otherwise. The inputs are those that write reads. The error may be the verdict
// on a complete output.
//
// When ctx ends, Produce removes the output and returns at once. It does not
// wait for write, which may be blocked by a pipe and ends with the process.
func Produce(ctx context.Context, s streams.Streams, path string, inputs []string, write func(*File) error) error {
	out, err := open(ctx, s, path)
	if err != nil {
		return err
	}
	if err = out.admit(s, inputs); err == nil {
		err = Beside(ctx, s, func() error {
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

// Beside calls f and returns its error, or that of ctx as soon as that ends. What f does
// then ends with the process.
func Beside(ctx context.Context, s streams.Streams, f func() error) error {
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
	to io.Writer // what Writer writes to

	// file is nil for standard output.
	file *os.File
	// target is the path that file is renamed to, "" if file is written in place.
	target string
	// mode is the permissions that the target gets. Those of a new target are
	// narrowed by the permissions of the inputs.
	mode fs.FileMode
	// Terminal is set where the output is a terminal.
	Terminal bool
	// Verdict is the error that the command ends with where the output is complete.
	Verdict error
	// Done is called once the output is complete; nil for nothing to call.
	Done func()
	// existing is the regular file that is written or replaced, nil for none.
	existing fs.FileInfo
}

func newWriter(w io.Writer) *bufio.Writer { return bufio.NewWriterSize(w, 64<<10) }

// To returns the output to w.
func To(w io.Writer) *File { return &File{Writer: newWriter(w), to: w} }

// Escape makes a terminal show the control characters of what is written from now on as escape sequences. Other
// outputs get text as it is.
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
			err = &fs.PathError{Op: failed.Op, Path: path, Err: failed.Err} // that of the temporary file says less
		}
		return nil, exit.Output(fmt.Errorf("creating output: %w", err))
	}
	return o, nil
}

// openInPlace opens a device or a named pipe, which cannot be replaced; a
// directory fails here. Opening a pipe waits for its reader.
func openInPlace(ctx context.Context, s streams.Streams, path string) (*File, error) {
	var f *os.File
	err := Beside(ctx, s, func() (err error) {
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

// create creates the temporary file that is to replace path. Until it is
// complete only its owner can read it.
func (o *File) create(path string) error {
	o.target = followLinks(path)
	if o.existing != nil { // a rename would replace a file that may not be written, too
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
	o.file, o.Writer = file, newWriter(file)
	like := o.existing
	if like == nil {
		like, err = file.Stat() // what a new file gets
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

// followLinks returns the path that a symbolic link leads to, which need not exist: the file behind a link is replaced, not
// the link.
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

// admit looks at the inputs that can be found: none of them may be the output, which is for those only who can read them all.
// A missing one is reported when it is read.
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

// Exclude reports whether a file that was found, in a directory, is the output.
// Any other is an input: who may not read it may not read a new output, but for its owner.
// Pipes and devices say nothing about that.
func (o *File) Exclude(info fs.FileInfo) bool {
	if o.existing != nil && info.Mode().IsRegular() && os.SameFile(o.existing, info) {
		return true
	}
	if isNew := o.target != "" && o.existing == nil; isNew && (info.Mode().IsRegular() || info.IsDir()) {
		o.mode &= info.Mode().Perm() | 0o600
	}
	return false
}

// commit completes the output, which has been flushed.
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
	// The command fails for another reason already.
	_ = o.file.Close()
	if o.target != "" {
		_ = os.Remove(o.file.Name())
	}
}

// Wrote says on standard error how many operations are in the complete file at path, and its size. It says nothing
// of standard output, devices and pipes.
func Wrote(s streams.Streams, path string, operations int64) {
	info := regular(os.Stat(path))
	if info == nil || path == ingest.Stdin {
		return
	}
	fmt.Fprintf(s.Err, "wrote %s: %s, %s\n", termtext.Escape(path), units.Plural(operations, "operation"), units.Bytes(info.Size()))
}

// Screen returns what may be a terminal: standard output, if that is the output.
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

// JSON writes v as JSON that can be printed on a terminal.
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
