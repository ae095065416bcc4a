package kineto

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"unsafe"

	"github.com/optrace/optrace/ingest/internal/traceevent"
	"github.com/optrace/optrace/internal/text/lexer"
)

// powers are samples of the power of devices, by device. They come from counters such as Cuspy's "Power (W)" of the
// process "GPU 0 Counters". A sample is the mean power since the one before.
type powers struct {
	of     map[int32][]powerSample
	n      int
	sorted bool
}

type powerSample struct {
	at     int64
	watts  float64
	joules float64 // times 1e9, of the samples from the first one to this one
}

func (p *powers) bytes() int { return 2 * p.n * int(unsafe.Sizeof(powerSample{})) }

// Counters of power, and the processes of the counters of a device.
var (
	powerCounter = regexp.MustCompile(`^(?i:gpu )?Power \((m|k)?W\)$`)
	powerProcess = regexp.MustCompile(`^"GPU (\d{1,4}) Counters"$`)
)

// add takes a counter.
func (p *powers) add(e *traceevent.Event) {
	if !bytes.Contains(e.Name, []byte("Power")) {
		return
	}
	name := powerCounter.FindSubmatch(e.Name)
	process := powerProcess.FindSubmatch(e.PID)
	if name == nil || process == nil || e.Args == nil || !e.Start.Known {
		return
	}
	var l lexer.Lexer
	l.Reset(e.Args)
	l.Object()
	if !l.More() {
		return
	}
	l.Key()
	watts, err := strconv.ParseFloat(string(l.AnyNumber()), 64)
	const most = 1e6
	watts *= map[string]float64{"": 1, "m": 1e-3, "k": 1e3}[string(name[1])]
	if err != nil || !(watts >= 0 && watts < most) {
		return
	}
	if p.of == nil {
		p.of = make(map[int32][]powerSample)
	}
	device := int32(parseInt(process[1]).V)
	p.of[device] = append(p.of[device], powerSample{at: e.Start.V, watts: watts})
	p.n++
	p.sorted = false
}

// mean returns the mean power of the device during an operation as text, or "" unless samples cover the operation.
func (p *powers) mean(d *deviceOp) string {
	list := p.of[d.device]
	if len(list) == 0 || d.dur <= 0 || d.has&hasDevice == 0 {
		return ""
	}
	if !p.sorted {
		p.settle()
	}
	if d.start+d.dur > list[len(list)-1].at {
		return ""
	}
	watts := (until(list, d.start+d.dur) - until(list, d.start)) / float64(d.dur)
	return strconv.FormatFloat(watts, 'g', 6, 64)
}

func (p *powers) settle() {
	for _, list := range p.of {
		slices.SortStableFunc(list, func(a, b powerSample) int { return cmp.Compare(a.at, b.at) })
		for i := 1; i < len(list); i++ {
			list[i].joules = list[i-1].joules + list[i].watts*float64(list[i].at-list[i-1].at)
		}
	}
	p.sorted = true
}

// until returns the energy from the first sample to a time that is not behind the last one.
func until(list []powerSample, at int64) float64 {
	i := sort.Search(len(list), func(i int) bool { return list[i].at >= at })
	return list[i].joules - list[i].watts*float64(list[i].at-at)
}
