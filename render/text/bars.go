package text

import "strings"

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
