// Package env reads configurations from environment variables. An unset or empty variable changes no value. A bad
// value is reported to OpenTelemetry's error handler and ignored.
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

// Faults lists the errors of a configuration.
type Faults []error

// Add adds an error if is is true.
func (f *Faults) Add(is bool, format string, args ...any) {
	if is {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

// Set calls set with the value of a variable.
func Set(name string, set func(value string) error) {
	value := os.Getenv(name)
	if value == "" {
		return
	}
	if err := set(value); err != nil {
		otel.Handle(fmt.Errorf("optrace: ignoring environment variable %s=%q: %w", name, value, err))
	}
}

// OneOf returns the one of values called v.
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

// Choice sets dst to the one of values named by a variable.
func Choice[T fmt.Stringer](name string, dst *T, values ...T) {
	Set(name, func(value string) error {
		v, err := OneOf(value, values...)
		if err == nil {
			*dst = v
		}
		return err
	})
}

// Int sets dst to a whole number of at least least.
func Int(name string, dst *int64, least int64) {
	Set(name, func(value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < least {
			return fmt.Errorf("want a whole number of at least %d", least)
		}
		*dst = n
		return nil
	})
}

// Duration sets dst to a duration of at least least.
func Duration(name string, dst *time.Duration, least time.Duration) {
	Set(name, func(value string) error {
		d, err := time.ParseDuration(value)
		if err != nil || d < least {
			return errors.New(`want a duration such as "500ms"`)
		}
		*dst = d
		return nil
	})
}

// Bool sets dst to a truth value.
func Bool(name string, dst *bool) {
	Set(name, func(value string) error {
		b, err := strconv.ParseBool(value)
		if err != nil {
			return errors.New("want true or false")
		}
		*dst = b
		return nil
	})
}
