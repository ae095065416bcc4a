package text_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/text"
)

var (
	screenField  = regexp.MustCompile(`(?m)^([a-z][a-z. ]{9}) (\S.*)$`)
	screenHead   = regexp.MustCompile(`(?m)^  (?:operation|device) {2,}(.*)$`)
	screenNumber = regexp.MustCompile(`[0-9](?:[0-9.,]*[0-9])?(?: (?:(?:[KMGT]?i?B|[kMGT]FLOP|s|ms|µs|ns)\b|%))?`)
	screenName   = regexp.MustCompile(`^[a-z_]+ N$|^(?:expected a value|red mul x) N$`)
	finding      = regexp.MustCompile(`(?m)^const \w+ Kind = "(.*)"$`)
)

// docs/analyses.md defines every number of the first screen: those of its lines, the columns of its tables, and the
// kinds of findings.
func TestFirstScreenIsDefined(t *testing.T) {
	file := check.Must(os.ReadFile("../../docs/analyses.md"))(t)
	_, section, _ := strings.Cut(string(file), "\n## The first screen\n")
	section, _, _ = strings.Cut(section, "\n## ")
	numbers := make(map[string]bool)
	r := full()
	r.Groups = nil
	r.Total.StatedNS, r.Input.Entries = op.Known(1), r.Total.Count+1
	r.Input.EarlierBatches, r.Input.DroppedLinks, r.Input.MissingLinks = 1, 1, op.Known(1)
	var b bytes.Buffer
	check.OK(t, text.WriteOverview(&b, r, text.Options{Width: 500}))
	b.WriteString(render(t, r, text.Options{Width: 500, Show: func(string) bool { return false }})) // all that may be wrong
	for _, m := range screenField.FindAllStringSubmatch(b.String(), -1) {
		for part := range strings.FieldsFuncSeq(screenNumber.ReplaceAllString(m[2], "N"), func(r rune) bool {
			return strings.ContainsRune(",:;()", r)
		}) {
			if part = screenName.ReplaceAllString(strings.TrimSpace(part), "NAME N"); strings.Contains(part, "N") {
				numbers["`"+strings.TrimSpace(m[1])+": "+part+"`"] = true
			}
		}
	}
	for _, m := range screenHead.FindAllStringSubmatch(b.String(), -1) {
		for column := range strings.SplitSeq(m[1], "  ") {
			if column = strings.TrimSpace(column); column != "" {
				numbers["`"+column+"`"] = true
			}
		}
	}
	kinds := check.Must(os.ReadFile("../../docs/api/analyze_findings.txt"))(t)
	for _, m := range finding.FindAllStringSubmatch(string(kinds), -1) {
		if !regexp.MustCompile(`(?:\*\*|, )` + m[1] + `(?:\*\*|, )`).Match(file) {
			t.Errorf("docs/analyses.md lacks the finding %s", m[1])
		}
	}
	if len(numbers) < 40 {
		t.Errorf("only %d numbers are found", len(numbers))
	}
	for number := range numbers {
		if !strings.Contains(section, number) {
			t.Errorf("docs/analyses.md lacks %s", number)
		}
	}
}
