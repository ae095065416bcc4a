package requests

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/optrace/optrace/internal/model/kernelname"
	"github.com/optrace/optrace/internal/text/units"
)

// causeSentences are the sentences of causes: the time, its share and the parts stand for
// the placeholders.
var causeSentences = map[string]string{
	CauseCompute:       "It computed for %s (%s): %s.",
	CauseMemory:        "It moved data for %s (%s): %s.",
	CauseOther:         "Operations of other kinds took %s (%s): %s.",
	CauseStraggler:     "It waited %s (%s) for the last device to begin a collective: %s.",
	CauseCommunication: "It waited for communication for %s (%s): %s.",
	CauseLaunch:        "It waited %s (%s) for the host to launch what came next: %s.",
	CauseQueue:         "It waited %s (%s) for the start of what the host had launched: %s.",
	CauseBefore:        "%s (%s) passed before its first operation: %s.",
	CauseHost:          "%s (%s) passed between its operations, on the host: %s.",
	CauseAfter:         "%s (%s) passed after its last operation: %s.",
}

// maxPartsInText bounds the parts that a sentence names.
const maxPartsInText = 3

// isOutside reports whether c is time without an operation on the path.
func (c *Cause) isOutside() bool {
	return c.Cause == CauseBefore || c.Cause == CauseHost || c.Cause == CauseAfter
}

// sentence returns the figures of c in words.
func (c *Cause) sentence(ranks bool) string {
	var parts []string
	rest := int64(0)
	for i := range c.Parts {
		if i >= maxPartsInText {
			rest += c.Parts[i].TimeNS
			continue
		}
		parts = append(parts, c.Parts[i].words(c.Cause, ranks))
	}
	if n := len(c.Parts) - maxPartsInText; n > 0 {
		parts = append(parts, fmt.Sprintf("%s more %s", units.Count(int64(n)), units.Duration(rest)))
	}
	return fmt.Sprintf(causeSentences[c.Cause], units.Duration(c.TimeNS), units.Percent(c.Share), strings.Join(parts, ", "))
}

// maxNameInText bounds names in sentences.
const maxNameInText = 48

// NameInText returns a name as it stands in a sentence: on one line, a kernel's in short, and without the middle
// of a long one.
func NameInText(name string) string {
	runes := []rune(name)
	if len(runes) > maxNameInText {
		runes = []rune(kernelname.Short(name))
	}
	if n := len(runes); n > maxNameInText {
		const tail = maxNameInText / 3
		runes = append(append(runes[:maxNameInText-tail-1:maxNameInText-tail-1], '…'), runes[n-tail:]...)
	}
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = ' '
		}
	}
	return string(runes)
}

// words returns the figures of a part of a cause in words.
func (p *CausePart) words(cause string, ranks bool) string {
	name, time := NameInText(p.Operation), units.Duration(p.TimeNS)
	device := NameInText(p.Label(ranks))
	switch {
	case cause == CauseStraggler && p.Meanwhile != "":
		return fmt.Sprintf("%s in %s for %s, which meanwhile ran %s for %s", time, name, device, NameInText(p.Meanwhile),
			units.Duration(p.MeanwhileNS))
	case cause == CauseStraggler:
		return fmt.Sprintf("%s in %s for %s", time, name, device)
	case p.DeviceID != "" && !p.IsNone():
		name += " on " + device
	}
	text := name + " " + time
	if p.MeanwhileDevice != "" && minMeanwhileInText*p.MeanwhileNS >= p.TimeNS {
		text += fmt.Sprintf(" while %s ran %s for %s", NameInText(p.MeanwhileDevice), NameInText(p.Meanwhile), units.Duration(p.MeanwhileNS))
	}
	return text
}

// minMeanwhileInText is which part of the time something must have run to be named.
const minMeanwhileInText = 10
