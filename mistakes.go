package optrace

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/record/observ"
)

// failure is the error of a task. Its text names the package once, whatever the cause does.
type failure struct {
	task  string
	cause error
}

const packagePrefix = "optrace: "

// Error implements error.
func (f *failure) Error() string {
	cause := strings.ReplaceAll("\n"+f.cause.Error(), "\n"+packagePrefix, "\n")
	return packagePrefix + f.task + ": " + cause[1:]
}

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.cause }

// earlyTold is set once the error handler has been told of a time that is no Unix time in nanoseconds.
var earlyTold atomic.Bool

// checkTime tells the error handler of OpenTelemetry, once, where a time of an operation is earlier than the
// year 2000. The operation is recorded all the same.
func checkTime(unixNano int64) {
	if unixNano > 0 && unixNano < opmodel.Year2000 && !earlyTold.Load() {
		reportEarly(unixNano)
	}
}

func reportEarly(unixNano int64) {
	if earlyTold.Swap(true) {
		return
	}
	looksLike := "is in 1970"
	if unit := opmodel.TimeUnit(unixNano); unit != "" {
		looksLike = "looks like " + unit
	} else if at := time.Unix(0, unixNano).UTC(); at.Year() > 1970 {
		looksLike = fmt.Sprint("is in ", at.Year())
	}
	new(observ.Errors).Report(fmt.Errorf("optrace: recording operations: times are Unix nanoseconds; %d %s", unixNano, looksLike))
}
