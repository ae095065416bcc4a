package requests

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/optrace/optrace/internal/model/kernelname"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
)

// causeSentences are the sentences of causes, with placeholders for the time, its share and the parts.
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

const maxPartsInText = 3

func (c *Cause) isOutside() bool {
	return c.Cause == CauseBefore || c.Cause == CauseHost || c.Cause == CauseAfter
}

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
	text := causeSentences[c.Cause]
	if c.Cause == CauseAfter && c.Share == 1 {
		text = "%s (%s) passed without an operation: %s."
	}
	return fmt.Sprintf(text,
		units.Duration(c.TimeNS), units.Percent(c.Share), strings.Join(parts, ", "))
}

const maxNameInText = 48

// NameInText prepares a name for a sentence: on one line, a kernel's shortened, a long one without its middle.
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

// NamesInText prepares names like [NameInText], so that different names stay different.
func NamesInText(names []string) []string {
	texts := termtext.Distinct(names, maxNameInText, NameInText, kernelname.Long)
	for i, text := range texts {
		texts[i] = NameInText(text)
	}
	return texts
}

func (p *CausePart) words(cause string, ranks bool) string {
	name := NameInText(p.Operation)
	time := units.Duration(p.TimeNS)
	device := NameInText(p.Label(ranks))
	switch {
	case cause == CauseStraggler && p.Meanwhile != "":
		return fmt.Sprintf("%s in %s for %s, which meanwhile ran %s for %s",
			time, name, device, NameInText(p.Meanwhile), units.Duration(p.MeanwhileNS))
	case cause == CauseStraggler:
		return fmt.Sprintf("%s in %s for %s", time, name, device)
	case p.DeviceID != "" && !p.IsNone():
		name += " on " + device
	}
	text := name + " " + time
	if p.MeanwhileDevice != "" && minMeanwhileInText*p.MeanwhileNS >= p.TimeNS {
		text += fmt.Sprintf(" while %s ran %s for %s",
			NameInText(p.MeanwhileDevice), NameInText(p.Meanwhile), units.Duration(p.MeanwhileNS))
	}
	return text
}

const minMeanwhileInText = 10 // the inverse of the least fraction of the time for an operation to be named
