package flags

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/ingest"
)

// Format defines the flag that names the format of the inputs. It is checked while
// flags are parsed.
func Format(fs *flag.FlagSet, format *string) {
	fs.Func("format", "", func(name string) error {
		if names := ingest.FormatNames(); !slices.Contains(names, name) {
			return fmt.Errorf("unknown format %q; formats are %s", name, strings.Join(names, ", "))
		}
		*format = name
		return nil
	})
}

// FormatUsage describes that flag, for the help of a command.
func FormatUsage() string {
	const (
		indent = "                    "
		width  = 80
	)
	var text strings.Builder
	text.WriteString("  -format NAME      take all INPUTs for files of a format, whatever they look like:")
	line := width
	for i, name := range ingest.FormatNames() {
		if i > 0 {
			text.WriteString(",")
			line += 2
		}
		if line+len(name) >= width {
			text.WriteString("\n" + indent)
			line = len(indent)
		} else {
			text.WriteString(" ")
		}
		text.WriteString(name)
		line += len(name)
	}
	return text.String()
}
