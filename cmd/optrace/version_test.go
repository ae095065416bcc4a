package main

import (
	"runtime/debug"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

func TestVersionOf(t *testing.T) {
	for want, info := range map[string]*debug.BuildInfo{
		"(unknown)": nil,
		"(devel)":   {},
		"v0.2.0": {Main: debug.Module{Version: "v0.2.0"},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "1a2b"}}},
		"(devel) 1a2b": {
			Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{{Key: "vcs.revision",
				Value: "1a2b"}},
		},
	} {
		check.Equal(t, "", want, versionOf(info))
	}
}
