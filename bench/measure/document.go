package measure

import (
	"fmt"
	"os"
	"strings"
)

// FindSection finds the part of a document that is written here, and returns a function that replaces it. It is the
// text between the lines
//
//	<!-- table -->
//	<!-- end of table -->
func FindSection(path string) (replace func(text string) error, err error) {
	document, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	const start, end = "<!-- table -->\n", "<!-- end of table -->\n"
	before, rest, found := strings.Cut(string(document), start)
	_, behind, foundEnd := strings.Cut(rest, end)
	if !found || !foundEnd {
		return nil, fmt.Errorf("%s has no lines %q and %q", path, start, end)
	}
	return func(text string) error {
		return os.WriteFile(path, []byte(before+start+"\n"+strings.TrimSpace(text)+"\n\n"+end+behind), 0o644)
	}, nil
}
