package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/otelcol"
)

func TestExampleIsValid(t *testing.T) {
	if err := validate(t, "../../examples/config.yaml"); err != nil {
		t.Error(err)
	}
}

func TestUnknownComponent(t *testing.T) {
	err := validate(t, "../../examples/config.yaml", "yaml:exporters::no_such::path: x")
	if err == nil || !strings.Contains(err.Error(), "no_such") {
		t.Errorf("the error is %v", err)
	}
}

// validate checks configurations as the command validate does.
func validate(t *testing.T, uris ...string) error {
	t.Helper()
	c, err := otelcol.NewCollector(settings(uris...))
	if err != nil {
		t.Fatal(err)
	}
	return c.DryRun(t.Context())
}

// start runs a Collector in this process until the test ends.
func start(t *testing.T, uris ...string) {
	t.Helper()
	c, err := otelcol.NewCollector(settings(uris...))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Run(context.WithoutCancel(t.Context())) }()
	t.Cleanup(func() {
		c.Shutdown()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
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
}

func TestStart(t *testing.T) {
	start(t, "../../examples/config.yaml", "yaml:receivers::otlp::protocols::http::endpoint: 127.0.0.1:0",
		"yaml:receivers::otlp::protocols::grpc::endpoint: 127.0.0.1:0", "yaml:exporters::optrace::path: "+t.TempDir()+"/ops.jsonl")
}
