package device

import (
	"fmt"
	"slices"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Devices are distinguished by service and host only if necessary.
func TestShared(t *testing.T) {
	on := func(service, device string, rank op.Int) Key {
		return Of(&op.Entry{Service: service, DeviceID: device, Rank: rank})
	}
	at := func(host, service string, rank op.Int) Key {
		return Of(&op.Entry{Service: service, DeviceID: "cuda:0", Rank: rank, Host: host})
	}
	none := op.Int{}
	for _, tc := range []struct {
		name   string
		keys   []Key
		want   []string
		shared int
	}{
		{"one service", []Key{on("a", "cuda:0", none), on("a", "cuda:1", none)}, []string{"cuda:0", "cuda:1"}, 0},
		{"two services", []Key{on("a", "cuda:0", none), on("b", "cuda:0", none)}, []string{"a cuda:0", "b cuda:0"}, 1},
		{"only the device that both have", []Key{on("a", "cuda:0", none), on("b", "cuda:0", none),
			on("b", "cuda:1", none)},
			[]string{"a cuda:0", "b cuda:0", "cuda:1"}, 1},
		{"an unknown service is none of several", []Key{on("a", "cuda:0", none), on("", "cuda:0", none)},
			[]string{"cuda:0"}, 0},
		{"an unknown service beside several",
			[]Key{on("a", "cuda:0", none), on("", "cuda:0", none), on("b", "cuda:0", none)},
			[]string{"a cuda:0", "b cuda:0", "cuda:0"}, 1},
		{"ranks tell devices apart", []Key{on("a", "cuda:0", op.Known(0)), on("b", "cuda:0", op.Known(1))},
			[]string{"0/cuda:0", "1/cuda:0"}, 0},
		{"one of them with a rank", []Key{on("a", "cuda:0", op.Known(0)), on("b", "cuda:0", none)},
			[]string{"0/cuda:0", "cuda:0"}, 0},
		{"two hosts of a service", []Key{at("n1", "a", none), at("n2", "a", none)},
			[]string{"n1 cuda:0", "n2 cuda:0"}, 1},
		{"two services on a host each", []Key{at("n1", "a", none), at("n2", "b", none)},
			[]string{"a cuda:0", "b cuda:0"}, 1},
		{"two services, one of them on two hosts",
			[]Key{at("n1", "a", none), at("n2", "a", none), at("n1", "b", none)},
			[]string{"a n1 cuda:0", "a n2 cuda:0", "b n1 cuda:0"}, 1},
		{"hosts with ranks", []Key{at("n1", "a", op.Known(0)), at("n2", "a", op.Known(1))},
			[]string{"0/cuda:0", "1/cuda:0"}, 0},
		{"an unknown host is none of several", []Key{at("n1", "a", none), on("a", "cuda:0", none)},
			[]string{"cuda:0"}, 0},
		{"no device", []Key{on("a", "", none), on("b", "", none)}, []string{"unknown"}, 0},
		{"a device called unknown", []Key{on("a", "unknown", none), on("b", "unknown", none)},
			[]string{"a unknown", "b unknown"}, 1},
	} {
		shared := FindShared(slices.Values(tc.keys))
		ranks := slices.ContainsFunc(tc.keys, func(k Key) bool { return k.Rank.Known })
		var got []string
		for _, k := range tc.keys {
			got = append(got, shared.Key(k).Label(ranks))
		}
		slices.Sort(got)
		check.Equal(t, tc.name, tc.want, slices.Compact(got))
		check.Equal(t, fmt.Sprintf("%s: shared", tc.name), tc.shared, len(shared))
	}
}
