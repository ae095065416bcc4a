package text

import (
	"fmt"
	"strings"

	"github.com/optrace/optrace/analyze/correlate"
)

// address returns a link that can stand in the text, "" for none: of visible ASCII
// only, so that it ends where it seems to, and stays within its escape sequence.
func address(l correlate.Link) string {
	if strings.ContainsFunc(string(l), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return string(l)
}

// hyperlink returns text that leads to an address, by the escape sequence OSC 8.
func hyperlink(address, text string) string {
	return "\x1b]8;;" + address + "\x1b\\" + text + "\x1b]8;;\x1b\\"
}

// footnote returns the number of an address at the foot, "" for none.
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

// foot lists the addresses that the text refers to. They are not cut and not
// broken, whatever the width: parts of one lead nowhere.
func (p *page) foot() {
	if len(p.addresses.Values) == 0 {
		return
	}
	p.heading("LINKS")
	for i, a := range p.addresses.Values {
		fmt.Fprintf(&p.b, "  [%d] %s\n", i+1, a)
	}
}
