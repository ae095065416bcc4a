package flags

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
)

// PeaksUsage lists the devices whose peaks are known, for the usage of the command.
func PeaksUsage() string {
	const indent = "                    "
	lines := []string{indent}
	for i, name := range peaks.Names() {
		last := len(lines) - 1
		switch {
		case i == 0:
			lines[last] += name
		case len(lines[last])+len(", ")+len(name) < 80:
			lines[last] += ", " + name
		default:
			lines[last] += ","
			lines = append(lines, indent+name)
		}
	}
	return strings.Join(lines, "\n")
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
