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

// absent stands for an unknown figure.
const absent = "-"

// ifKnown formats a number, "" if it is unknown.
func ifKnown(n op.Int, format func(int64) string) string {
	if !n.Known {
		return ""
	}
	return format(n.V)
}

// known formats a number, [absent] if it is unknown.
func known(n op.Int, format func(int64) string) string { return cmp.Or(ifKnown(n, format), absent) }

func knownDuration(ns op.Int) string { return known(ns, units.Duration) }

func knownFloat(f op.Float, format func(float64) string) string {
	if !f.Known {
		return absent
	}
	return format(f.V)
}

// nonZero formats a number, "" for 0, the usual value.
func nonZero(n int64, format func(int64) string) string {
	if n == 0 {
		return ""
	}
	return format(n)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// startText formats a time. Times in 1970 come from clocks that start with the run, such as a session of ONNX Runtime:
// they are shown in seconds, not as dates.
func startText(ns int64) string {
	if ns >= 0 && ns < int64(365*24*time.Hour) {
		return fmt.Sprintf("+%d.%09d s", ns/int64(time.Second), ns%int64(time.Second))
	}
	return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z")
}

// idText formats the id of a trace or span; a zero id is unknown.
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

// part formats a part of a duration with its share.
func part(ns, whole int64) string {
	if whole == 0 {
		return units.Duration(ns)
	}
	return fmt.Sprintf("%s (%.0f %%)", units.Duration(ns), float64(ns)/float64(whole)*100)
}

// shareOf returns n / whole, 0 for an empty whole.
func shareOf(n, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(n) / float64(whole)
}

const maxInText = 48 // bounds names within sentences

func inText(name string) string { return shorten(termtext.Clean(name), maxInText) }

// shorten fits a name into a width. It takes the short form of a kernel's name. Longer ones lose their middle, or the
// beginning of the kernel's name if template arguments tell kernels apart.
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

// distinct shortens names to a width; different names stay different.
func distinct(names []string, width int) []string {
	fit := func(name string) string { return shorten(name, width) }
	return termtext.Distinct(names, width, fit, kernelname.Long)
}

const barWidth = 10

// bar draws a share; less than an eighth of a column is "".
func bar(share float64) string {
	if !(share > 0) {
		return ""
	}
	eighths := int(min(share, 1)*barWidth*8 + 0.5)
	return strings.Repeat("█", eighths/8) + []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}[eighths%8]
}

const partsWidth = 20

var partSigns = []string{"█", "▓", "▒", "░"}

// partsBar draws consecutive parts of a whole, each with its sign. Columns are divided at rounded sums, so they add up.
func partsBar(whole int64, parts ...int64) string {
	if whole <= 0 {
		return ""
	}
	var b strings.Builder
	sum := 0.0
	drawn := 0
	for i, part := range parts {
		sum += float64(max(part, 0))
		to := min(int(sum/float64(whole)*partsWidth+0.5), partsWidth)
		b.WriteString(strings.Repeat(partSigns[i], max(0, to-drawn)))
		drawn = max(drawn, to)
	}
	return b.String()
}

// together returns how many neighbouring buckets share a column beside names of a width.
func (p *page) together(buckets, names int) int {
	room := p.Width - 2*gap - names
	return max(1, (buckets+room-1)/room)
}

// strip draws a column for every together parts of whole.
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
