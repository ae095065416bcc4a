package optrace

import (
	"errors"
	"fmt"
	"os"
	"strconv"
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
		cfg.policy, err = parsePolicy(v)
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

func parsePolicy(v string) (Policy, error) {
	for p := DropNewest; p <= Block; p++ {
		if v == p.String() {
			return p, nil
		}
	}
	return 0, fmt.Errorf("want %v, %v or %v", DropNewest, DropOldest, Block)
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
