package text

import (
	"fmt"
	"strings"

	"github.com/optrace/optrace/analyze/correlate"
)

// address returns a link fit for the text, or "". Links are visible ASCII only, so they stay within their escape
// sequence and end where they seem to.
func address(l correlate.Link) string {
	if strings.ContainsFunc(string(l), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return string(l)
}

func hyperlink(address, text string) string {
	return "\x1b]8;;" + address + "\x1b\\" + text + "\x1b]8;;\x1b\\"
}

// footnote returns the number of an address at the foot, "" for no address.
func (p *page) footnote(address string) string {
	if address == "" {
		return ""
	}
	return fmt.Sprintf("[%d]", p.addresses.ID(address)+1)
}

type linked struct {
	text string
	link correlate.Link
}

func (p *page) open(links ...linked) {
	var parts []string
	for _, l := range links {
		switch to := address(l.link); {
		case to == "":
		case p.Hyperlinks:
			parts = append(parts, hyperlink(to, l.text))
		default:
			parts = append(parts, l.text+" "+p.footnote(to))
		}
	}
	if len(parts) > 0 {
		p.b.WriteString("  open: " + strings.Join(parts, ", ") + "\n")
	}
}

// foot lists the linked addresses. They are never cut or broken, because part of an address leads nowhere.
func (p *page) foot() {
	if len(p.addresses.Values) == 0 {
		return
	}
	p.heading("LINKS")
	for i, a := range p.addresses.Values {
		fmt.Fprintf(&p.b, "  [%d] %s\n", i+1, a)
	}
}
