package profile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Operations on the CPU, and without a device, are the host's beside an accelerator with launch times, or beside operators
// of PyTorch, in a profile, in one of merged parts, and in a structure. Otherwise the CPU is a device. Input without a device
// is the host's beside any accelerator. The processor of another service launches nothing.
func TestSidesBesideAccelerators(t *testing.T) {
	for _, test := range []struct {
		devices  []string
		launched string
		want     string
	}{
		{[]string{"cpu", "cuda:0", "", "disk"}, "cuda:0", "2 on devices, 2 on the host"},
		{[]string{"cuda:0", "cpu:0"}, "cuda:0", "1 on devices, 1 on the host"},
		{[]string{"CUDA0", "CPU"}, "", "2 on devices, 0 on the host"},
		{[]string{"aten::mm", "cuda:0"}, "", "1 on devices, 1 on the host"},
		{[]string{"cpu", "", "disk"}, "disk", "3 on devices, 0 on the host"},
		{[]string{"gpu:0", "input", "cpu"}, "", "2 on devices, 1 on the host"},
		{[]string{"gpu:0", "input", "cpu"}, "gpu:0", "1 on devices, 2 on the host"},
		{[]string{"disk", "input"}, "disk", "2 on devices, 0 on the host"},
		{[]string{"gpu:0", "search/cpu", "cpu", "search/input"}, "gpu:0", "3 on devices, 1 on the host"},
		{[]string{"search/gpu:0", "search/cpu", "cpu", "input"}, "search/gpu:0", "3 on devices, 1 on the host"},
	} {
		name := fmt.Sprint(test.devices)
		whole, parts := profile.New(profile.Options{}), profile.New(profile.Options{})
		f := trace.New()
		for i, d := range test.devices {
			service, id, isOf := strings.Cut(d, "/")
			if !isOf {
				service, id = "trainer", d
			}
			e := &op.Entry{Operation: "a", Service: service, DeviceID: id, Duration: 1, Failed: true, Start: op.Known(int64(i))}
			if d == "aten::mm" {
				e.Operation = d
				e.DeviceID = "cpu"
			}
			if id == "input" {
				e.DeviceID = ""
				e.Kind = op.KindIO
			}
			if d == test.launched {
				e.Launch = e.Start
			}
			whole.Add(e)
			part := profile.New(profile.Options{})
			part.Add(e)
			parts.Merge(part)
			f.Add(op.Record{Entry: e})
		}
		f.Build()
		for of, p := range map[string]*profile.Profile{
			"whole": whole, "parts": parts, "structure": profile.Of(f, whole, f.CountsInSums),
		} {
			var counts [2]int64
			s := p.Sums()
			for _, o := range s.Operations {
				counts[len(o.Side)/len("host")] += o.Count
			}
			check.Equal(t, name+" "+of, test.want, fmt.Sprintf("%d on devices, %d on the host", counts[0], counts[1]))
			check.Equal(t, name+" "+of+": counted", counts[0], s.Total.Count)
			check.Equal(t, name+" "+of+": listed", counts[0], int64(len(s.Slowest)))
			check.Equal(t, name+" "+of+": devices", counts[0], int64(len(s.Devices)))
		}
		onDevices := 0
		for r := range f.Rows() {
			if f.IsDeviceSide(r) {
				onDevices++
			}
		}
		check.Equal(t, name+": rows", test.want[:1], fmt.Sprint(onDevices))
	}
}
