package flags

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/internal/termtext"
)

// PeaksUsage lists the devices whose peaks are known, for the usage of the command.
func PeaksUsage() string {
	const indent = "                    "
	lines := termtext.Wrap(strings.Join(peaks.Names(), ", "), 79-len(indent), 79-len(indent))
	return indent + strings.Join(lines, "\n"+indent)
}

// readPeaks returns the peaks that a device's name or a file tells, nil for "".
func readPeaks(name string) (*peaks.Table, error) {
	if name == "" {
		return nil, nil
	}
	if table, ok := peaks.Of(name); ok {
		return table, nil
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usagef("-peaks: there is no file %s%s, and known devices are %s", name, exit.Guess(name, peaks.Names()),
			strings.Join(peaks.Names(), ", "))
	} else if err != nil {
		return nil, exit.Usagef("-peaks: %w", err)
	}
	table, err := peaks.Parse(text)
	if err != nil {
		return nil, exit.Usagef("-peaks: %s: %w", name, err)
	}
	return table, nil
}
