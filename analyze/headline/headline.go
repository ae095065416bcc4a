// Package headline describes a run in up to three lines: its devices and their busy share, the time of a step or request,
// and the achieved share of the peak.
package headline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// Headline has the first figures of a run. Text states them, one to three lines, for every form of the report.
type Headline struct {
	Text []string `json:"text"`
	// Models are the names of the devices in the input. Devices has a row per device with operations.
	Models  []string `json:"models"`
	Devices []Device `json:"devices"`
	// BusyShare is the busy part of the devices' time from their first operation to their last, BusyOfRun of the time of
	// the whole run, and ExposedCommunication the part in which they only communicated. They are unknown without
	// devices, and if too much work is missing.
	BusyShare            op.Float `json:"busy_share"`
	BusyOfRun            op.Float `json:"busy_share_of_run"`
	ExposedCommunication op.Float `json:"exposed_communication_share"`
	// StepNS has the times from the start of a step to the start of the next one, RequestsNS the durations of the requests
	// of one name. They are nil with fewer than two steps, and without requests.
	StepNS     *Times `json:"step_ns"`
	RequestsNS *Times `json:"requests_ns"`
	// FLOPsPerSecond is the rate of the FLOPsOperations operations with known FLOPs, of Operations. ShareOfPeak is its share of
	// the peak rate of Arithmetic, an element type or tf32. MFU is the same share over the whole run and all devices.
	// They are unknown unless these operations take half of the devices' computing time and do nine tenths of their FLOPs
	// in one arithmetic.
	FLOPsPerSecond     op.Float `json:"flops_per_second"`
	FLOPsOperations    int64    `json:"flops_operations"`
	Operations         int64    `json:"operations"`
	Arithmetic         string   `json:"arithmetic,omitempty"`
	PeakFLOPsPerSecond op.Float `json:"peak_flops_per_second"`
	ShareOfPeak        op.Float `json:"flops_share_of_peak"`
	MFU                op.Float `json:"mfu"`
}

// Device is a device with operations. Name is its model, unknown if several are in the input. BusyShare is the busy part
// of the time from its first operation to its last.
type Device struct {
	DeviceID  string    `json:"device_id"`
	Rank      op.Int    `json:"rank"`
	Name      key.Value `json:"name"`
	BusyShare op.Float  `json:"busy_share"`
}

// Times has the number of times and two percentiles of them, in nanoseconds.
type Times struct {
	Count int64 `json:"count"`
	P50   int64 `json:"p50"`
	P95   int64 `json:"p95"`
}

// Facts are the input of Of. Models are the names of devices in the input, Used their known arithmetic.
type Facts struct {
	Models   []string
	Devices  []profile.Device
	Total    profile.Total
	ExtentNS op.Int
	Used     work.Used
	Steps    []steps.Row
	Alike    []requests.Alike
	Engines  []engines.Engine
	// Host counts the operations of the host. Missing is set if too much work is missing for shares of time, and Suspect
	// if some times cannot be right.
	Host             int64
	Missing, Suspect bool
}

// Of returns the headline, nil for an input without operations and requests.
func Of(f *Facts) *Headline {
	h := &Headline{
		Models: append([]string{}, f.Models...), Devices: []Device{}, Operations: f.Total.Count,
		FLOPsOperations: f.Total.FLOPsCount,
	}
	share := func(ns, whole int64) op.Float {
		if f.Missing || whole <= 0 {
			return op.Float{}
		}
		return op.KnownFloat(float64(ns) / float64(whole))
	}
	var device string
	var busy, span, compute, communication int64
	for i := range f.Devices {
		d := &f.Devices[i]
		if d.Key().IsNone() {
			continue
		}
		row := Device{DeviceID: d.DeviceID, Rank: d.Rank, BusyShare: share(d.BusyNS.V, d.SpanNS.V)}
		if len(h.Models) == 1 {
			row.Name = key.Value{Text: h.Models[0], Known: true}
		}
		h.Devices = append(h.Devices, row)
		device = d.Key().Label(d.Rank.Known)
		busy += d.BusyNS.V
		span += d.SpanNS.V
		compute += d.ComputeNS.V
		communication += d.ExposedCommunicationNS.V
	}
	h.BusyShare = share(busy, span)
	h.BusyOfRun = share(busy, f.ExtentNS.V*int64(len(h.Devices)))
	h.ExposedCommunication = share(communication, span)
	h.StepNS = timesOf(steps.ToNext(f.Steps))
	name := h.addRequests(f)
	h.addPeak(f, compute)

	h.say(h.runText(f, termtext.Clean(device), span))
	switch t := h.RequestsNS; {
	case h.StepNS != nil && h.StepNS.P50 > 0:
		h.say(fmt.Sprintf("A step takes %s from start to start (median of %s).", units.Duration(h.StepNS.P50),
			units.Plural(h.StepNS.Count, "step")))
	case t == nil:
	case len(f.Steps) == 1 && f.Steps[0].Name == name:
		h.say("1 step: " + units.Duration(t.P50) + " (" + name + ").")
		h.RequestsNS = nil
	case t.Count == 1:
		h.say("1 request: " + units.Duration(t.P50) + " (" + name + ").")
	default:
		h.say(fmt.Sprintf("%s: p50 %s, p95 %s (%s).", units.Plural(t.Count, "request"), units.Duration(t.P50),
			units.Duration(t.P95), name))
	}
	h.say(h.peakText(len(f.Used) > 0))
	if len(h.Text) == 0 {
		return nil
	}
	return h
}

func (h *Headline) say(text string) {
	if text != "" {
		h.Text = append(h.Text, text)
	}
}

// timesOf returns the percentiles of times, nil for fewer than two.
func timesOf(ns []int64) *Times {
	n := int64(len(ns))
	if n < 2 {
		return nil
	}
	slices.Sort(ns)
	return &Times{n, ns[sketch.Place(n, 50)], ns[sketch.Place(n, 95)]}
}

// addRequests sets the durations of the requests with the most time and returns their name.
func (h *Headline) addRequests(f *Facts) (name string) {
	for i := range f.Engines {
		if e := &f.Engines[i]; e.E2E != nil && (h.RequestsNS == nil || e.E2E.Count > h.RequestsNS.Count) {
			name = e.Dialect
			h.RequestsNS = &Times{e.E2E.Count, e.E2E.P50, e.E2E.P95}
		}
	}
	if name == "" && len(f.Alike) > 0 {
		a := &f.Alike[0]
		name = a.Name
		h.RequestsNS = &Times{a.Count, a.MedianNS, a.P95NS}
	}
	return requests.NameInText(name)
}

func (h *Headline) addPeak(f *Facts, computeNS int64) {
	t := &f.Total
	if !t.FLOPsPerSecond.Known || t.FLOPsPerSecond.V <= 0 {
		return
	}
	if ns := float64(t.FLOPs) / t.FLOPsPerSecond.V * 1e9; computeNS == 0 || 2*ns < float64(computeNS) {
		return
	}
	h.FLOPsPerSecond = t.FLOPsPerSecond
	used, ok := f.Used.Main(t.FLOPs)
	if !ok || t.FLOPsPerSecond.V > used.PeakFLOPsPerSecond {
		return
	}
	h.Arithmetic = used.Name
	h.PeakFLOPsPerSecond = op.KnownFloat(used.PeakFLOPsPerSecond)
	h.ShareOfPeak = op.KnownFloat(t.FLOPsPerSecond.V / used.PeakFLOPsPerSecond)
	if ns := f.ExtentNS.V * int64(len(h.Devices)); ns > 0 && !f.Missing {
		h.MFU = op.KnownFloat(float64(t.FLOPs) / float64(ns) * 1e9 / used.PeakFLOPsPerSecond)
	}
}

// runText names the devices and their busy share. The only device is called device, unless the input names its model.
func (h *Headline) runText(f *Facts, device string, spanNS int64) string {
	operations := units.Plural(f.Total.Count, "operation")
	switch within := " within " + units.Duration(f.ExtentNS.V); {
	case f.Total.Count+f.Host == 0:
		return ""
	case f.Total.Count == 0:
		return "No device operation was recorded: the host ran " + units.Plural(f.Host, "operation") + within + "."
	case len(h.Devices) == 0 && f.ExtentNS.Known:
		return operations + within + "; none states its device."
	case len(h.Devices) == 0:
		return operations + ", " + units.Duration(f.Total.SumNS) + " in all; none states its device or a start."
	}
	text := device
	average := ""
	if len(h.Models) > 0 {
		text = termtext.Clean(strings.Join(h.Models, ", "))
	}
	count := int64(len(h.Devices))
	if n := units.Plural(count, "device"); count > 1 {
		average = " on average"
		switch len(h.Models) {
		case 0:
			text = n
		case 1:
			text = units.Count(count) + " × " + text
		default:
			text += " (" + n + ")"
		}
	}
	switch {
	case f.Missing:
		return text + ": the busy share is not known, because work is missing."
	case !h.BusyShare.Known:
		return text + ": " + operations + ", " + units.Duration(f.Total.SumNS) + " in all; starts are not known."
	}
	text += ": busy " + units.Percent(h.BusyShare.V) + " of " + units.Duration(spanNS/count) + average
	if h.BusyOfRun.Known && h.BusyOfRun.V < 0.9*h.BusyShare.V {
		text += fmt.Sprintf(" (%s of the run, %s)", units.Percent(h.BusyOfRun.V), units.Duration(f.ExtentNS.V))
	}
	if h.ExposedCommunication.V >= 0.001 {
		text += ", exposed communication " + units.Percent(h.ExposedCommunication.V)
	}
	if f.Suspect {
		text += ", suspect times included"
	}
	return text + "."
}

// peakText states the share of the peak, or the lack of one.
func (h *Headline) peakText(usesPeaks bool) string {
	if !h.ShareOfPeak.Known {
		unknown := slices.DeleteFunc(slices.Clone(h.Models), func(m string) bool { return peaks.OfModel(m) != nil })
		if len(unknown) == 0 || usesPeaks || h.Operations == 0 {
			return ""
		}
		return "No peak is known for " + termtext.Clean(strings.Join(unknown, ", ")) + "; -peaks states one."
	}
	text := fmt.Sprintf("%s, %s of the %s peak, in %s of %s", units.FLOPsPerSecond(h.FLOPsPerSecond.V),
		units.Percent(h.ShareOfPeak.V), h.Arithmetic, units.Count(h.FLOPsOperations), units.Plural(h.Operations, "operation"))
	if h.MFU.Known {
		text += "; MFU " + units.Percent(h.MFU.V)
	}
	return text + "."
}
