package main

import (
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/output"
	"github.com/optrace/optrace/internal/model/attrkey"
)

const defaultReportURL = "http://127.0.0.1:8318"

func checkReportURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Contains(address, "#") {
		return exit.Usagef("-report-url: %q is not an http:// or https:// URL", address)
	}
	return nil
}

// linkPattern is a rule of Jaeger's pages. It links a trace or an attribute to a URL. In the URL, #{name} stands for a
// field or an attribute.
type linkPattern struct {
	Type string `json:"type"`
	Key  string `json:"key,omitempty"`
	URL  string `json:"url"`
	Text string `json:"text"`
}

// writeLinkPatterns writes rules from traces and operations to the page of optrace serve at an address.
func writeLinkPatterns(w io.Writer, report string) error {
	const text = "Operations of this request"
	report = strings.TrimRight(report, "/") + "/trace/"
	return output.JSON(w, map[string][]linkPattern{"linkPatterns": {
		{Type: "traces", URL: report + "#{traceID}", Text: text},
		// Jaeger 1 calls attributes tags; both versions ignore rules of unknown types.
		{Type: "tags", Key: attrkey.Name, URL: report + "#{trace.traceID}", Text: text},
		{Type: "attributes", Key: attrkey.Name, URL: report + "#{trace.traceID}", Text: text},
	}})
}

// showTrace redirects from an address of the rules to the page with the request selected.
func showTrace(w http.ResponseWriter, r *http.Request) {
	id := strings.ToLower(r.PathValue("id"))
	if id == "" || len(id) > 32 || strings.Trim(id, "0123456789abcdef") != "" {
		http.Error(w, "not a trace id of 32 hexadecimal digits", http.StatusNotFound)
		return
	}
	http.Redirect(w, r, "/#request="+strings.Repeat("0", 32-len(id))+id, http.StatusFound)
}
