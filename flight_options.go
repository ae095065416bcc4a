package optrace

import (
	"os"
	"time"
)

// WithFlightRecorder makes the Processor keep the last n operations in memory,
// with the spans above them, and write nothing until a dump is called for: by
// [Processor.Dump], or by what the other options of this kind name. A dump
// writes what there is and begins anew. Operations that fall out count as
// dropped, and those that nothing called for at Shutdown. It needs an
// [Exporter]. Default: 0, everything is written.
func WithFlightRecorder(n int) ProcessorOption {
	return processorOption(func(cfg processorConfig) processorConfig {
		cfg.flightEntries = n
		return cfg
	})
}

// WithDumpOnError makes an operation that fails call for a dump.
func WithDumpOnError() ProcessorOption {
	return processorOption(func(cfg processorConfig) processorConfig {
		cfg.dumpOnError = true
		return cfg
	})
}

// WithDumpOnSlow makes a local root span, such as a request or a training
// step, that takes d or longer call for a dump.
func WithDumpOnSlow(d time.Duration) ProcessorOption {
	return processorOption(func(cfg processorConfig) processorConfig {
		cfg.dumpOnSlow = d
		return cfg
	})
}

// WithDumpOnSignal makes the given signals call for a dump. They then no
// longer have their default effect on the process.
func WithDumpOnSignal(signals ...os.Signal) ProcessorOption {
	return processorOption(func(cfg processorConfig) processorConfig {
		cfg.dumpSignals = append([]os.Signal(nil), signals...)
		return cfg
	})
}
