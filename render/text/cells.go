package text

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/optrace/optrace/internal/model/kernelname"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// absent stands for a figure that is not known.
const absent = "-"

// ifKnown writes a number, nothing if it is not known.
func ifKnown(n op.Int, format func(int64) string) string {
	if !n.Known {
		return ""
	}
	return format(n.V)
}

// known is ifKnown with a sign for what is not known.
func known(n op.Int, format func(int64) string) string { return cmp.Or(ifKnown(n, format), absent) }

func knownDuration(ns op.Int) string { return known(ns, units.Duration) }

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

// shareOf is the part of a whole that a number is, 0 where there is none.
func shareOf(n, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(n) / float64(whole)
}

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

// barWidth is the width of the bar of a whole.
const barWidth = 10

// bar draws a share of a whole, "" for one that does not reach an eighth of a
// column.
func bar(share float64) string {
	if !(share > 0) {
		return ""
	}
	eighths := int(min(share, 1)*barWidth*8 + 0.5)
	return strings.Repeat("█", eighths/8) + []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}[eighths%8]
}

// partsWidth is the width of a bar of parts.
const partsWidth = 20

// partSigns are the signs of the parts of a bar.
var partSigns = []string{"█", "▓", "▒", "░"}

// partsBar draws parts of a whole one after the other, each with its sign, up to a
// bar's width. Its columns are divided at the rounded sums, so that they add up.
func partsBar(whole int64, parts ...int64) string {
	if whole <= 0 {
		return ""
	}
	var b strings.Builder
	sum, drawn := 0.0, 0
	for i, part := range parts {
		sum += float64(max(part, 0))
		to := min(int(sum/float64(whole)*partsWidth+0.5), partsWidth)
		b.WriteString(strings.Repeat(partSigns[i], max(0, to-drawn)))
		drawn = max(drawn, to)
	}
	return b.String()
}

// together returns how many neighbours of a strip share a column where there is no room
// for a column each beside names of the width.
func (p *page) together(buckets, names int) int {
	room := p.Width - 2*gap - names
	return max(1, (buckets+room-1)/room)
}

// strip draws a column for each part of whole, the parts of several neighbours in
// one where together is more than 1.
func strip(parts []int64, whole int64, together int) string {
	levels := []rune(" ▁▂▃▄▅▆▇█")
	var b strings.Builder
	for len(parts) > 0 {
		n := min(together, len(parts))
		sum := 0.0
		for _, p := range parts[:n] {
			sum += float64(p)
		}
		level := 0
		if sum > 0 { // anything shows
			level = 1 + int(sum/(float64(whole)*float64(n))*float64(len(levels)-2))
		}
		b.WriteRune(levels[min(level, len(levels)-1)])
		parts = parts[n:]
	}
	return strings.TrimRight(b.String(), " ")
}
