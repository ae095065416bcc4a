package text

import (
	"strconv"

	"github.com/optrace/optrace/internal/termtext"
)

// maxFindings bounds the findings.
const maxFindings = 8

// findings shows what the run was bound by and what would make it faster.
func (v *view) findings() {
	if len(v.r.Findings) == 0 {
		return
	}
	v.heading("FINDINGS")
	for i := range v.r.Findings {
		f := &v.r.Findings[i]
		if i == maxFindings {
			v.more(len(v.r.Findings) - i)
			return
		}
		text := strconv.Itoa(i+1) + ". " + termtext.Clean(f.Text) // of a report from a file
		if f.Where.Section != "" {
			text += " See -section " + termtext.Clean(f.Where.Section) + "."
		}
		v.note(text)
	}
}
