package optrace

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
)

// variable is an environment variable that sets part of a configuration.
// Options win over variables, and a bad value is reported and ignored. All
// variables stand in the table of docs/environment.md.
type variable[T any] struct {
	name string
	set  func(cfg *T, value string) error
}

// processorVariables set the defaults of a Processor.
var processorVariables = []variable[processorConfig]{
	{"OPTRACE_POLICY", func(cfg *processorConfig, v string) (err error) {
		cfg.policy, err = parseName(v, DropNewest, DropOldest, Block)
		return err
	}},
	{"OPTRACE_MAX_BYTES", func(cfg *processorConfig, v string) error {
		return setInt(&cfg.maxBytes, v, minMaxBytes)
	}},
	{"OPTRACE_FLUSH_INTERVAL", func(cfg *processorConfig, v string) error {
		return setDuration(&cfg.flushInterval, v, 1)
	}},
	{"OPTRACE_EXPORT_TIMEOUT", func(cfg *processorConfig, v string) error {
		return setDuration(&cfg.exportTimeout, v, 1)
	}},
	{"OPTRACE_RECORD_ONLY", func(cfg *processorConfig, v string) (err error) {
		return setBool(&cfg.recordOnly, v)
	}},
	{"OPTRACE_FORWARD_THRESHOLD", func(cfg *processorConfig, v string) error {
		return setDuration(&cfg.forwardThreshold, v, 0)
	}},
	{"OPTRACE_FORWARD_SAMPLING", func(cfg *processorConfig, v string) error {
		ratio, err := strconv.ParseFloat(v, 64)
		if err != nil || !(ratio >= 0 && ratio <= 1) {
			return errors.New("want a number between 0 and 1")
		}
		cfg.forwardRatio = ratio
		return nil
	}},
}

// exporterVariables set the defaults of every Exporter, fileVariables those of
// file exporters in addition.
var (
	exporterVariables = []variable[config]{
		{"OPTRACE_FORMAT", func(cfg *config, v string) (err error) {
			cfg.format, err = parseName(v, FormatEntries, FormatOTLPJSON, FormatOTLPProto)
			return err
		}},
		{"OPTRACE_COMPRESSION", func(cfg *config, v string) (err error) {
			cfg.compression, err = parseName(v, NoCompression, Gzip, Zstd)
			return err
		}},
	}
	fileVariables = []variable[config]{
		{"OPTRACE_ROTATE_BYTES", func(cfg *config, v string) error {
			return setInt(&cfg.rotation.maxBytes, v, 0)
		}},
		{"OPTRACE_ROTATE_AGE", func(cfg *config, v string) error {
			return setDuration(&cfg.rotation.maxAge, v, 0)
		}},
		{"OPTRACE_MAX_TOTAL_BYTES", func(cfg *config, v string) error {
			return setInt(&cfg.rotation.maxTotal, v, 0)
		}},
	}
)

// setupVariables set the defaults of Setup.
var setupVariables = []variable[setupConfig]{
	{"OPTRACE_FILE", func(cfg *setupConfig, v string) error {
		cfg.path = v
		return nil
	}},
	{"OPTRACE_DISABLED", func(cfg *setupConfig, v string) error {
		return setBool(&cfg.disabled, v)
	}},
}

// fromEnvironment applies the variables that are set and not empty.
func fromEnvironment[T any](cfg T, variables []variable[T]) T {
	for _, v := range variables {
		value := os.Getenv(v.name)
		if value == "" {
			continue
		}
		changed := cfg
		if err := v.set(&changed, value); err != nil {
			otel.Handle(fmt.Errorf("optrace: ignoring environment variable %s=%q: %w", v.name, value, err))
			continue
		}
		cfg = changed
	}
	return cfg
}

// parseName returns the value that is called v.
func parseName[T fmt.Stringer](v string, values ...T) (T, error) {
	var names []string
	for _, value := range values {
		if v == value.String() {
			return value, nil
		}
		names = append(names, value.String())
	}
	var none T
	return none, fmt.Errorf("want %s", strings.Join(names, " or "))
}

func setInt(dst *int64, v string, least int64) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least {
		return fmt.Errorf("want a whole number from %d on", least)
	}
	*dst = n
	return nil
}

func setDuration(dst *time.Duration, v string, least time.Duration) error {
	d, err := time.ParseDuration(v)
	if err != nil || d < least {
		return errors.New(`want a duration such as "500ms"`)
	}
	*dst = d
	return nil
}

func setBool(dst *bool, v string) error {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return errors.New("want true or false")
	}
	*dst = b
	return nil
}
