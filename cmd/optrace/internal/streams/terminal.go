// Package streams has the standard streams of a command and the display options of text.
package streams

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/optrace/optrace/render/text"
)

// Streams are the standard streams of a command and its input files.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Files opens the inputs; nil opens files of the operating system.
	Files fs.FS
	// Result gets what a command found, beside its text; it may be nil.
	Result func(any)
}

// Show gives what a command found to Result.
func (s Streams) Show(found any) {
	if s.Result != nil {
		s.Result(found)
	}
}

// Open opens an input.
func (s Streams) Open(path string) (fs.File, error) {
	if s.Files != nil {
		return s.Files.Open(path)
	}
	return os.Open(path)
}

// Stat describes an input.
func (s Streams) Stat(path string) (fs.FileInfo, error) {
	if s.Files != nil {
		return fs.Stat(s.Files, path)
	}
	return os.Stat(path)
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	// Asking a pipe for its descriptor would change how it blocks.
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && term.IsTerminal(int(f.Fd()))
}

// DisplayFlags are the display flags of text.
type DisplayFlags struct {
	color string
	width int
}

// Colors lists the values of -color.
func Colors() []string { return []string{"auto", "always", "never"} }

// Register defines the flags.
func (f *DisplayFlags) Register(fs *flag.FlagSet) {
	f.color = "auto"
	fs.Func("color", "", func(when string) error {
		if !slices.Contains(Colors(), when) {
			return fmt.Errorf("it is not one of %s", strings.Join(Colors(), ", "))
		}
		f.color = when
		return nil
	})
	fs.Func("width", "", func(width string) (err error) {
		if f.width, err = strconv.Atoi(width); err != nil || f.width != 0 && f.width < text.MinWidth {
			return fmt.Errorf("it is not a number of at least %d", text.MinWidth)
		}
		return nil
	})
}

// On returns the display options for text written to w.
func (f *DisplayFlags) On(w io.Writer) text.Options {
	env := os.Getenv
	terminal := IsTerminal(w) && env("TERM") != "dumb"
	return text.Options{
		Color:      f.color == "always" || f.color == "auto" && terminal && env("NO_COLOR") == "",
		Hyperlinks: terminal && showsHyperlinks(env),
		Width:      cmp.Or(f.width, terminalWidth(w), atLeast(strconv.Atoi(env("COLUMNS")))),
	}
}

// ClearLine clears the line of a terminal with progress.
func ClearLine(w io.Writer) {
	if IsTerminal(w) {
		fmt.Fprint(w, "\r\x1b[K")
	}
}

func terminalWidth(w io.Writer) int {
	if !IsTerminal(w) {
		return 0
	}
	width, _, err := term.GetSize(int(w.(*os.File).Fd()))
	return atLeast(width, err)
}

// atLeast returns the width of text for a stated width, 0 without one.
func atLeast(width int, err error) int {
	if err != nil || width <= 0 {
		return 0
	}
	return max(width, text.MinWidth)
}

// showsHyperlinks reports whether the terminal is known to support OSC 8 links. A multiplexer in between may drop them.
func showsHyperlinks(env func(string) string) bool {
	switch name := env("TERM"); {
	case strings.HasPrefix(name, "screen"), strings.HasPrefix(name, "tmux"):
		return false
	case strings.Contains(name, "kitty"), strings.HasPrefix(name, "alacritty"), strings.HasPrefix(name, "foot"),
		strings.Contains(name, "ghostty"), strings.HasPrefix(name, "wezterm"), strings.HasPrefix(name, "contour"):
		return true
	}
	switch env("TERM_PROGRAM") {
	case "iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio", "WarpTerminal":
		return true
	}
	vte, _ := strconv.Atoi(env("VTE_VERSION")) // GNOME Terminal and others; 0.50 is the first with links
	return vte >= 5000 || env("WT_SESSION") != "" || env("KONSOLE_VERSION") != "" || env("DOMTERM") != ""
}
