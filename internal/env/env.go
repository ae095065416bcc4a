// Package env reads configurations from environment variables.
//
// It parses values and reports bad ones; the names of the variables, and what
// they set, are in tables beside the options.
package env

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
)

// Variable is an environment variable that sets part of a configuration.
type Variable[T any] struct {
	Name string
	Set  func(cfg *T, value string) error
}

// Apply applies the variables that are set and not empty to cfg. A bad value is
// reported to the error handler of OpenTelemetry and ignored.
func Apply[T any](cfg T, variables []Variable[T]) T {
	for _, v := range variables {
		value := os.Getenv(v.Name)
		if value == "" {
			continue
		}
		changed := cfg
		if err := v.Set(&changed, value); err != nil {
			otel.Handle(fmt.Errorf("optrace: ignoring environment variable %s=%q: %w", v.Name, value, err))
			continue
		}
		cfg = changed
	}
	return cfg
}

// OneOf returns the one of values whose name is v.
func OneOf[T fmt.Stringer](v string, values ...T) (T, error) {
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

// Int sets dst to a whole number of at least least.
func Int(dst *int64, v string, least int64) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least {
		return fmt.Errorf("want a whole number from %d on", least)
	}
	*dst = n
	return nil
}

// Duration sets dst to a duration of at least least.
func Duration(dst *time.Duration, v string, least time.Duration) error {
	d, err := time.ParseDuration(v)
	if err != nil || d < least {
		return errors.New(`want a duration such as "500ms"`)
	}
	*dst = d
	return nil
}

// Bool sets dst to a truth value.
func Bool(dst *bool, v string) error {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return errors.New("want true or false")
	}
	*dst = b
	return nil
}
