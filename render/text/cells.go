package text

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/optrace/optrace/internal/kernelname"
	"github.com/optrace/optrace/internal/termtext"
	"github.com/optrace/optrace/internal/units"
	"github.com/optrace/optrace/op"
)

// absent stands for a figure that is not known.
const absent = "-"

// isEmpty reports whether a cell says nothing.
func isEmpty(cell string) bool { return cell == "" || cell == absent }

// ifKnown writes a number, nothing if it is not known.
func ifKnown(n op.Int, format func(int64) string) string {
	if !n.Known {
		return ""
	}
	return format(n.V)
}

// known is ifKnown with a sign for what is not known.
func known(n op.Int, format func(int64) string) string { return cmp.Or(ifKnown(n, format), absent) }

// knownDuration writes nanoseconds that may be unknown.
func knownDuration(ns op.Int) string { return known(ns, units.Duration) }

// knownFloat writes a number that may be unknown.
func knownFloat(f op.Float, format func(float64) string) string {
	if !f.Known {
		return absent
	}
	return format(f.V)
}

// nonZero writes a number that is usually 0, which is left out.
func nonZero(n int64, format func(int64) string) string {
	if n == 0 {
		return ""
	}
	return format(n)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// startText writes a time. One of 1970 is of a source whose clock starts with the run, such as a session of ONNX Runtime, and is no
// date: it is in seconds from there on.
func startText(ns int64) string {
	if ns >= 0 && ns < int64(365*24*time.Hour) {
		return fmt.Sprintf("+%d.%09d s", ns/int64(time.Second), ns%int64(time.Second))
	}
	return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z")
}

// idText writes the id of a trace or span, which is the zero one if it is not known.
func idText[T interface {
	IsZero() bool
	String() string
}](id T) string {
	if id.IsZero() {
		return absent
	}
	return id.String()
}

func micros(us float64) string { return units.DurationFloat(us * 1000) }

// part writes a part of a duration with its share.
func part(ns, whole int64) string {
	if whole == 0 {
		return units.Duration(ns)
	}
	return fmt.Sprintf("%s (%.0f %%)", units.Duration(ns), float64(ns)/float64(whole)*100)
}

// shareText writes what part of a whole a number is.
func shareText(n, whole int64) string { return units.Percent(float64(n) / float64(whole)) }

// maxInText bounds names within sentences.
const maxInText = 48

// inText returns a name as it stands in a sentence.
func inText(name string) string { return shorten(termtext.Clean(name), maxInText) }

// shorten fits a name into a width: the short form of a kernel's name, without its middle if that takes more, or
// the end of the kernel where its template arguments say which it is.
func shorten(name string, width int) string {
	if termtext.Width(name) <= width {
		return name
	}
	short := kernelname.Short(name)
	if i := strings.IndexByte(short, '<'); i > 0 && short != name && termtext.Width(short) > width {
		if room := width - termtext.Width(short[i:]); 3*room >= width {
			return termtext.Truncate(short[:i], room) + short[i:]
		}
	}
	return termtext.Shorten(short, width)
}

func plural(n int64, noun string) string { return pluralOf(n, noun, noun+"s") }

func pluralOf(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return units.Count(n) + " " + many
}
