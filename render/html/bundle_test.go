package html

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The modules can share one scope: names are declared once, and imports precede their users.
func TestModules(t *testing.T) {
	declared := make(map[string]string)
	declaration := regexp.MustCompile(`(?m)^(?:export )?(?:async )?(?:function|class|const|let) ([A-Za-z_$][\w$]*)`)
	imported := regexp.MustCompile(`(?m)^import \{([^}]*)\} from "\./(\w+)\.js";$`)
	for i, m := range modules {
		text := asset(m + ".js")
		for _, d := range declaration.FindAllStringSubmatch(text, -1) {
			if other, ok := declared[d[1]]; ok {
				t.Errorf("%s is declared in %s and in %s", d[1], other, m)
			}
			declared[d[1]] = m
		}
		lines := regexp.MustCompile(`(?m)^import [^;]*;$`).FindAllString(text, -1)
		imports := imported.FindAllStringSubmatch(text, -1)
		if len(lines) != len(imports) {
			t.Errorf("%s has imports of another form: %q", m, lines)
		}
		for _, im := range imports {
			if !slices.Contains(modules[:i], im[2]) {
				t.Errorf("%s imports %s, which does not come before it", m, im[2])
			}
			for name := range strings.FieldsSeq(strings.ReplaceAll(im[1], ",", " ")) {
				if declared[name] != im[2] {
					t.Errorf("%s imports %s, which %s does not have", m, name, im[2])
				}
			}
		}
	}
	for _, live := range []bool{false, true} {
		if text := script(live); strings.Contains(text, "\nimport ") || strings.Contains(text, "\nexport ") {
			t.Error("the script has imports or exports")
		}
		if strings.Contains(script(live), "</script") || strings.Contains(asset("page.css"), "</style") {
			t.Error("the page's own texts end their element")
		}
	}
}
