package flags

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/ingest"
)

// InOut are the flags of commands that read inputs and write an output.
type InOut struct {
	// Format is the name of the inputs' format; "" finds it by content.
	Format string
	// Output is the file to write, "" for standard output.
	Output string
	// Memory bounds the memory that is taken for the input.
	Memory MemorySize
}

// Define defines the flags.
func (f *InOut) Define(fs *flag.FlagSet) {
	Format(fs, &f.Format)
	fs.StringVar(&f.Output, "o", "", "")
	f.Memory = ingest.DefaultMaxMemory
	fs.Var(&f.Memory, "max-memory", "")
}

// Format defines the flag that names the format of the inputs. It is checked while
// flags are parsed.
func Format(fs *flag.FlagSet, format *string) {
	fs.Func("format", "", func(name string) error {
		if names := ingest.FormatNames(); !slices.Contains(names, name) {
			return fmt.Errorf("unknown format %q%s; formats are %s", name, exit.Guess(name, names), strings.Join(names, ", "))
		}
		*format = name
		return nil
	})
}

// FormatUsage describes that flag, for the help of a command.
const FormatUsage = `  -format NAME      take all INPUTs for files of a format, whatever they look like;
                    optrace help formats lists them`
