package analyze

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/launch"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// A device of several services is as many devices: all figures are as if they had
// names of their own.
func TestSharedDevicesAreSeparate(t *testing.T) {
	cases.Seeds(t, 20, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(60))
		for i := range specs {
			specs[i].Service = tracetest.Pick(r, "", "a", "b", "c")
			if specs[i].IsOp && r.IntN(3) > 0 {
				specs[i].Device = tracetest.Pick(r, "cuda:0", "cuda:1", "cuda:2", "cuda:3")
			}
		}
		renamed := slices.Clone(specs)
		for i, s := range specs {
			if s.IsOp && tracetest.ServicesOf(specs, s.Device) > 1 && !s.Rank.Known && s.Service != "" && s.Device != "" {
				renamed[i].Device = s.Service + " " + s.Device
			}
			renamed[i].Service = ""
		}
		want := collected(r, plainRecords(renamed), Options{}, 1)
		for workers := 1; workers <= 3; workers++ {
			got := collected(r, plainRecords(specs), Options{}, workers)
			for i := range got.Input.Suspects {
				s := &got.Input.Suspects[i]
				s.DeviceID, s.Service = plainDevice(device.Key{DeviceID: s.DeviceID, Service: s.Service}).DeviceID, ""
			}
			for i := range got.Devices {
				d := &got.Devices[i]
				d.DeviceID, d.Service = plainDevice(d.Key()).DeviceID, ""
			}
			if diff := cmp.Diff(want, got, tracetest.EqualKeys, cmp.Transformer("rename", renameDevice), cmp.Options{
				cmpopts.IgnoreFields(Report{}, "Findings", "Operators", "Slowest", "Idle", "Steps"),
				cmpopts.IgnoreFields(Memory{}, "Hotspots"),
				cmpopts.IgnoreFields(requests.Slow{}, "Service", "Alike", "MedianNS"), // spans have lost their services, too
				cmpopts.IgnoreMapEntries(func(key string, _ int64) bool { return key == warnDeviceShared }),
				sortDevices(func(d profile.Device) device.Key { return d.Key() }),
				sortDevices(func(d timeline.IdleDevice) device.Key { return d.Key }),
				sortDevices(func(d timeline.DeviceUtilisation) device.Key { return d.Key }),
				sortDevices(func(d timeline.DeviceConcurrency) device.Key { return d.Key }),
				sortDevices(func(d timeline.DeviceMemory) device.Key { return d.Key }),
				sortDevices(func(d collective.Straggler) device.Key { return d.Key }),
				sortDevices(func(d collective.Wait) device.Key { return d.Key }),
				cmpopts.SortSlices(func(a, b launch.Stream) bool {
					x, y := plainDevice(a.Key), plainDevice(b.Key)
					d := x.Compare(y)
					return d < 0 || d == 0 && a.Stream.V < b.Stream.V
				}),
				cmpopts.SortSlices(func(a, b path.Share) bool {
					a.Key, b.Key = plainDevice(a.Key), plainDevice(b.Key)
					return fmt.Sprint(a) < fmt.Sprint(b)
				}),
			}); diff != "" {
				t.Fatalf("seed %d, %d workers (-renamed +shared):\n%s", seed, workers, diff)
			}
		}
		for i := range specs { // an operator launches what is of its service
			specs[i].Launch, renamed[i].Launch = op.Int{}, op.Int{}
		}
		var collapsed, renamedStacks bytes.Buffer
		check.OK(t, stacks.WriteForest(tracetest.AddTo(trace.New(), specs...), &collapsed))
		check.OK(t, stacks.WriteForest(tracetest.AddTo(trace.New(), renamed...), &renamedStacks))
		check.Equal(t, fmt.Sprintf("seed %d: stacks", seed), renamedStacks.String(), collapsed.String())
	})
}

func plainRecords(specs []tracetest.Spec) []op.Record {
	var records []op.Record
	for _, s := range specs {
		records = append(records, s.Record())
	}
	return records
}

// plainDevice returns the device with the service in its name.
func plainDevice(k device.Key) device.Key {
	if k.Service != "" {
		k.DeviceID, k.Service = k.Service+" "+k.DeviceID, ""
	}
	return k
}

// renameDevice returns the label and the rank.
func renameDevice(k device.Key) []string {
	return []string{plainDevice(k).DeviceID, k.Rank.String()}
}

func sortDevices[T any](key func(T) device.Key) cmp.Option {
	return cmpopts.SortSlices(func(a, b T) bool {
		x, y := plainDevice(key(a)), plainDevice(key(b))
		return strings.Compare(x.DeviceID, y.DeviceID) < 0 || x.DeviceID == y.DeviceID && x.Compare(y) < 0
	})
}
