package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
)

func printVersion(s streams.Streams, arguments []string) error {
	if len(arguments) > 0 {
		return exit.Usagef("version takes no arguments")
	}
	_, err := fmt.Fprintf(s.Out, "optrace %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return exit.Output(err)
}

var release string // the version set by the linker for a release, "" for any other build

func version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info)
}

// versionOf returns the version of a release, or else the module's version, with the commit for a build from a work
// tree.
func versionOf(info *debug.BuildInfo) string {
	if release != "" {
		return release
	}
	if info == nil {
		return "(unknown)"
	}
	version := info.Main.Version
	if version == "" {
		version = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && version == "(devel)" {
			version += " " + s.Value
		}
	}
	return version
}
