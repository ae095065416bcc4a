package optrace

import (
	"context"
	"os"
	"strconv"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/optrace/optrace/tensorconv"
)

// ProcessDetector returns a detector of what tells the processes of a job apart: host.name,
// process.pid, and tensor.rank with tensor.world_size where the program that started the
// process says them in the environment. It is for resources of one's own, which [Setup]
// knows nothing of:
//
//	res, err := resource.New(ctx,
//		resource.WithDetectors(optrace.ProcessDetector()),
//		resource.WithFromEnv(), // what is said there wins
//		resource.WithAttributes(semconv.ServiceName("trainer")))
//
// The variables are RANK and WORLD_SIZE of torchrun, OMPI_COMM_WORLD_RANK and
// OMPI_COMM_WORLD_SIZE of Open MPI, PMI_RANK and PMI_SIZE of MPICH, and SLURM_PROCID and
// SLURM_STEP_NUM_TASKS of Slurm. The first pair counts that is whole, with a rank below the
// size.
func ProcessDetector() resource.Detector { return processDetector{} }

type processDetector struct{}

// Detect returns the resource.
func (processDetector) Detect(ctx context.Context) (*resource.Resource, error) {
	return resource.New(ctx, resource.WithHost(), resource.WithProcessPID(), resource.WithAttributes(launchedAs()...))
}

// launchers are the variables with the rank and with the number of ranks.
var launchers = [...][2]string{
	{"RANK", "WORLD_SIZE"},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"PMI_RANK", "PMI_SIZE"},
	{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
}

// launchedAs returns the rank of the process and the number of ranks, if the environment
// has them.
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

// processResource returns the resource of a program that states nothing but attrs: what the SDK and
// the environment say of it, and what is detected beside that.
func processResource(ctx context.Context, attrs []attribute.KeyValue) *resource.Resource {
	r, err := processDetector{}.Detect(ctx)
	if err != nil {
		otel.Handle(err)
	}
	for _, stated := range []*resource.Resource{resource.Default(), resource.Environment(), resource.NewSchemaless(attrs...)} {
		if r, err = resource.Merge(r, stated); err != nil {
			otel.Handle(err)
		}
	}
	return r
}
