package main

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/otelcol"
	"go.uber.org/goleak"

	"github.com/optrace/optrace/internal/testing/check"
)

func TestExamplesAreValid(t *testing.T) {
	check.OK(t, validate(t, "../../examples/config.yaml"))
}

// The configurations of the README are valid.
func TestREADME(t *testing.T) {
	text := check.Must(os.ReadFile("../../README.md"))(t)
	n := 0
	for part := range strings.SplitSeq(string(text), "```yaml\n") {
		yaml, _, ok := strings.Cut(part, "```")
		if n++; !ok || n == 1 {
			continue
		}
		if err := validate(t, "../../examples/config.yaml", "yaml:"+yaml); err != nil {
			t.Errorf("%v\n%s", err, yaml)
		}
	}
	if n != 3 {
		t.Errorf("%d configurations, want 2", n-1)
	}
}

// validate checks configurations like the command validate.
func validate(t *testing.T, uris ...string) error {
	t.Helper()
	c := check.Must(otelcol.NewCollector(settings(uris...)))(t)
	return c.DryRun(t.Context())
}

// start runs a Collector in this process until stop is called or the test ends.
func start(t *testing.T, uris ...string) (stop func()) {
	t.Helper()
	c := check.Must(otelcol.NewCollector(settings(uris...)))(t)
	done := make(chan error, 1)
	go func() { done <- c.Run(context.WithoutCancel(t.Context())) }()
	stop = sync.OnceFunc(func() {
		c.Shutdown()
		check.OK(t, <-done)
	})
	t.Cleanup(stop)
	for deadline := time.Now().Add(30 * time.Second); c.GetState() != otelcol.StateRunning; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the Collector does not start")
		}
		select {
		case err := <-done:
			done <- nil
			t.Fatal(err)
		default:
		}
	}
	return stop
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
