package measure

import (
	"fmt"
	"os"
	"strings"
)

// Section is a part of a document that a program writes: the text between two
// lines with the section's name,
//
//	<!-- table -->
//	<!-- end of table -->
type Section struct {
	before, behind string // marks included
	path           string
}

// FindSection finds the section of that name in the document at path.
func FindSection(path, name string) (*Section, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	start, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, found := strings.Cut(string(text), start)
	_, behind, foundEnd := strings.Cut(rest, end)
	if !found || !foundEnd {
		return nil, fmt.Errorf("%s has no lines %q and %q", path, start, end)
	}
	return &Section{before + start, end + behind, path}, nil
}

// Rest returns the document without the section.
func (s *Section) Rest() string { return s.before + s.behind }

// Replace replaces the text of the section in the document.
func (s *Section) Replace(text string) error {
	return os.WriteFile(s.path, []byte(s.before+"\n"+strings.TrimSpace(text)+"\n\n"+s.behind), 0o644)
}
