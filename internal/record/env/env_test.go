package env_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"

	"github.com/optrace/optrace/internal/record/env"
	"github.com/optrace/optrace/internal/testing/check"
)

type config struct {
	n    int64
	d    time.Duration
	b    bool
	name name
}

type name string

func (n name) String() string { return string(n) }

func TestVariables(t *testing.T) {
	defaults := config{n: 5, d: time.Second, name: "one"}
	for _, tt := range []struct {
		variable, value string
		want            config
		bad             bool
	}{
		{"N", "", defaults, false}, {"N", "7", config{7, time.Second, false, "one"}, false},
		{"N", "2", config{2, time.Second, false, "one"}, false}, // the least
		{"N", "1", defaults, true}, {"N", "many", defaults, true},
		{"D", "2ms", config{5, 2 * time.Millisecond, false, "one"}, false},
		{"D", "1ns", config{5, 1, false, "one"}, false}, {"D", "0s", defaults, true}, {"D", "5", defaults, true},
		{"B", "true", config{5, time.Second, true, "one"}, false}, {"B", "yes", defaults, true},
		{"NAME", "two", config{5, time.Second, false, "two"}, false},
		{"NAME", "three", defaults, true},
	} {
		t.Run(tt.variable+"="+tt.value, func(t *testing.T) {
			var errs []error
			otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { errs = append(errs, err) }))
			t.Setenv("OPTRACE_TEST_"+tt.variable, tt.value)
			got := defaults
			env.Int("OPTRACE_TEST_N", &got.n, 2)
			env.Duration("OPTRACE_TEST_D", &got.d, 1)
			env.Bool("OPTRACE_TEST_B", &got.b)
			env.Choice("OPTRACE_TEST_NAME", &got.name, "one", "two")
			check.Equal(t, "", tt.want, got, cmp.AllowUnexported(config{}))
			if (len(errs) > 0) != tt.bad {
				t.Errorf("errors are %v, want some: %v", errs, tt.bad)
			}
		})
	}
}
