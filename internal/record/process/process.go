// Package process detects the attributes identifying a process of a job.
package process

import (
	"context"
	"os"
	"strconv"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/optrace/optrace/tensorconv"
)

// Detector detects host.name, process.pid, and the rank and number of ranks from a launcher's variables.
type Detector struct{}

// Detect returns the resource.
func (Detector) Detect(ctx context.Context) (*resource.Resource, error) {
	return resource.New(ctx, resource.WithHost(), resource.WithProcessPID(), resource.WithAttributes(launchedAs()...))
}

var launchers = [...][2]string{
	{"RANK", "WORLD_SIZE"},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"PMI_RANK", "PMI_SIZE"}, {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
}

func launchedAs() []attribute.KeyValue {
	for _, names := range launchers {
		rank, err := strconv.ParseInt(os.Getenv(names[0]), 10, 32)
		size, sizeErr := strconv.ParseInt(os.Getenv(names[1]), 10, 32)
		if err == nil && sizeErr == nil && 0 <= rank && rank < size {
			return []attribute.KeyValue{tensorconv.Rank(rank), tensorconv.WorldSize(size)}
		}
	}
	return nil
}

// Resource returns a program's resource: attrs, else the SDK's and the environment's, else the detected attributes.
func Resource(ctx context.Context, attrs []attribute.KeyValue) *resource.Resource {
	r, err := Detector{}.Detect(ctx)
	if err != nil {
		otel.Handle(err)
	}
	for _, stated := range []*resource.Resource{resource.Default(), resource.Environment(),
		resource.NewSchemaless(attrs...)} {
		if r, err = resource.Merge(r, stated); err != nil {
			otel.Handle(err)
		}
	}
	return r
}
