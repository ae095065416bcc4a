//go:build tree

package tree

import (
	"cmp"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// A measure counts matches in 1,000 words, or lines in 1,000 lines of code.
type measure struct {
	name    string
	pattern *regexp.Regexp // nil for code
	limits  [2]float64     // in Go files; in Markdown and help
}

const (
	tuples = 3 // an index of measures; the ones in front count words
	wide   = 4
	inDocs = 1 // an index of limits; Go files have 0
)

var (
	measures = [...]measure{
		{"that, which, who, what", regexp.MustCompile(`(?i)\b(that|which|who|whom|whose|what)\b`), [2]float64{18, 22}},
		{"of which, those, that of", regexp.MustCompile(
			`(?i)\b((of|in|by|for) which|of that|that of|those|of what|of whom)\b`), [2]float64{1.5, 1.5}},
		{"none, nothing, nobody", regexp.MustCompile(`(?i)\b(none|nothing|nobody|no one)\b`), [2]float64{2, 2.5}},
		tuples: {"assignments of several values", nil, [2]float64{6}},
		wide:   {"lines above 120 columns", nil, [2]float64{4}},
	}
	// exceptedWords are files and folders without limits, and the reasons.
	exceptedWords = map[string]string{
		"CHANGELOG.md": "entries of past versions stay as they were",
	}
	word       = regexp.MustCompile(`[A-Za-z']+`)
	directive  = regexp.MustCompile(`^//(go:|nolint|\S+:generate)`)
	inlineCode = regexp.MustCompile("`[^`]*`")
	skipped    = regexp.MustCompile(`^\..|testdata$|node_modules$|docs/api$`)
	assignment = regexp.MustCompile(`^(?:if |for |case |switch )?([\w\.\[\]\(\)\*\& ,\-\+:]+?) (:=|=) (.+)$`)
)

// A folder is the counts of its files of one kind, by measure.
type folder struct {
	kind         int // an index of limits
	total, found [len(measures)]int
	worst        [len(measures)]map[string]float64 // matches per word, by place and text
}

func (f *folder) add(measure, matches int, share float64, where, text string) {
	if matches > 0 {
		f.found[measure] += matches
		f.worst[measure][fmt.Sprintf("\n  %s: %.150s", where, text)] = share
	}
}

func (f *folder) addText(where, text string) {
	n := len(word.FindAllString(text, -1))
	for i, m := range measures[:tuples] {
		matches := len(m.pattern.FindAllString(text, -1))
		f.total[i] += n
		f.add(i, matches, float64(matches)/float64(max(n, 8)), where, text)
	}
}

// addMarkdown counts a page without its code.
func (f *folder) addMarkdown(path, page string) {
	fenced := false
	for i, text := range strings.Split(page, "\n") {
		if strings.HasPrefix(text, "```") {
			fenced = !fenced
		} else if !fenced {
			f.addText(fmt.Sprintf("%s:%d", path, i+1), inlineCode.ReplaceAllString(text, "x"))
		}
	}
}

// addGo counts comments and code, and in help the strings of four words or more.
func (f *folder) addGo(path, source string, help *folder) {
	lines := strings.Split(source, "\n")
	for i, text := range lines {
		trimmed := strings.TrimSpace(text)
		if trimmed == "" || strings.HasPrefix(trimmed, "//") {
			continue
		}
		f.total[tuples]++ // as many for wide
		where := fmt.Sprintf("%s:%d", path, i+1)
		if len([]rune(text))+3*strings.Count(text, "\t") > 120 { // a tab is four columns
			f.add(wide, 1, 1, where, trimmed)
		}
		if m := assignment.FindStringSubmatch(trimmed); m != nil && isList(m[1]) && isList(strings.TrimRight(m[3], "{")) {
			f.add(tuples, 1, 1, where, trimmed)
		}
	}
	file := token.NewFileSet().AddFile(path, -1, len(source))
	var s scanner.Scanner
	s.Init(file, []byte(source), nil, scanner.ScanComments)
	var comment []string // the lines of one
	last := 0
	for tok := token.COMMENT; tok != token.EOF; {
		pos, next, text := s.Scan()
		tok = next
		at := file.Position(pos)
		own := strings.HasPrefix(text, "//") && !directive.MatchString(text)
		own = own && strings.TrimSpace(lines[at.Line-1][:at.Column-1]) == ""
		if len(comment) > 0 && (tok == token.EOF || own && at.Line > last+1) {
			f.addText(fmt.Sprintf("%s:%d", path, last+1-len(comment)), strings.Join(comment, " "))
			comment = nil
		}
		if own {
			comment = append(comment, strings.TrimSpace(text[len("//"):]))
			last = at.Line
		} else if tok == token.STRING && help != nil {
			if text, _ = strconv.Unquote(text); len(word.FindAllString(text, 4)) == 4 {
				help.addText(at.String(), strings.ReplaceAll(text, "\n", " "))
			}
		}
	}
}

// isList reports whether a text has a comma outside of brackets.
func isList(text string) bool {
	depth := 0
	return strings.ContainsFunc(text, func(r rune) bool {
		depth += strings.Count("([{", string(r)) - strings.Count(")]}", string(r))
		return r == ',' && depth == 0
	})
}

// Comments, documents and help are plain English, and code has one assignment a statement.
func TestWords(t *testing.T) {
	folders := make(map[string]*folder)
	check.OK(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if entry.IsDir() && skipped.MatchString(path) {
			return fs.SkipDir
		}
		ending := filepath.Ext(path)
		isHelp := ending == ".txt" && strings.Contains(path, "/usage/")
		if err == nil && exceptedWords[path] == "" && (ending == ".go" || ending == ".md" || isHelp) {
			countFile(folders, path, readFile(t, path))
		}
		return err
	}))
	if folders["docs *.md"].found[0] == 0 {
		t.Error("no words are found")
	}
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		f := folders[name]
		path, _, _ := strings.Cut(name, " ")
		for i, m := range measures {
			total := f.total[min(i, tuples)]
			ratio := 1000 * float64(f.found[i]) / float64(max(total, 400)) // few words make no ratio
			text := fmt.Sprintf("%s: %s: %.1f in 1,000 of %d, at most %g", name, m.name, ratio, total, m.limits[f.kind])
			if ratio <= m.limits[f.kind] || exceptedWords[path] != "" {
				t.Log(text)
				continue
			}
			shares := f.worst[i]
			worst := slices.SortedFunc(maps.Keys(shares), func(a, b string) int { return cmp.Compare(shares[b], shares[a]) })
			t.Error(text + strings.Join(worst[:min(3, len(worst))], ""))
		}
	}
}

// countFile counts a file in its folder, the first of its path.
func countFile(folders map[string]*folder, path, text string) {
	of := func(name string, kind int) *folder {
		if folders[name] == nil {
			folders[name] = &folder{kind: kind}
			for i := range measures {
				folders[name].worst[i] = make(map[string]float64)
			}
		}
		return folders[name]
	}
	parts := strings.Split("(top)/"+path, "/")
	name := parts[min(1, len(parts)-2)]
	switch {
	case strings.HasSuffix(path, ".md"):
		of(name+" *.md", inDocs).addMarkdown(path, text)
	case strings.HasSuffix(path, ".txt"):
		of(name+" help", inDocs).addText(path, strings.ReplaceAll(text, "\n", " "))
	case strings.HasSuffix(path, "_test.go"):
		of(name+" *_test.go", 0).addGo(path, text, nil)
	case name == "cmd":
		of(name, 0).addGo(path, text, of("cmd help", inDocs))
	default:
		of(name, 0).addGo(path, text, nil)
	}
}
