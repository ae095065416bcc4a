package measure

import (
	"fmt"
	"os"
	"strings"
)

// Section is the part of a document that is written here: the text between the lines
//
//	<!-- table -->
//	<!-- end of table -->
type Section struct {
	before, behind string // marks included
	path           string
}

// FindSection finds the section in the document at path.
func FindSection(path string) (*Section, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	const start, end = "<!-- table -->\n", "<!-- end of table -->\n"
	before, rest, found := strings.Cut(string(text), start)
	_, behind, foundEnd := strings.Cut(rest, end)
	if !found || !foundEnd {
		return nil, fmt.Errorf("%s has no lines %q and %q", path, start, end)
	}
	return &Section{before + start, end + behind, path}, nil
}

// Replace replaces the text of the section in the document.
func (s *Section) Replace(text string) error {
	return os.WriteFile(s.path, []byte(s.before+"\n"+strings.TrimSpace(text)+"\n\n"+s.behind), 0o644)
}
