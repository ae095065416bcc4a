package html

import (
	"embed"
	"regexp"
	"strings"
)

//go:embed web/*.js web/page.css web/page.html
var web embed.FS

// modules lists the page's modules in order of their imports. A page has either file, for embedded data, or live, for a
// server's data.
var modules = []string{
	"units", "rows", "colors", "dom", "state", "charts", "table", "columns", "overlays", "lanes", "timeline", "flame",
	"selected",
	"operations", "devices", "requests", "communication", "memory", "steps", "launches", "sequences", "errors", "diff",
	"report", "cards",
	"main", "file", "live",
}

var (
	importLine    = regexp.MustCompile(`(?m)^import [^;]*;\n`)
	exportKeyword = regexp.MustCompile(`(?m)^export `)
)

// script joins the page's modules. Their names are distinct, so without imports and exports they share one scope.
func script(live bool) string {
	var b strings.Builder
	for _, m := range modules {
		if m == "file" && live || m == "live" && !live {
			continue
		}
		text := asset(m + ".js")
		b.WriteString(exportKeyword.ReplaceAllString(importLine.ReplaceAllString(text, ""), ""))
	}
	return b.String()
}

func asset(name string) string {
	text, err := web.ReadFile("web/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}
