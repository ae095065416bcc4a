// Package tensorconv has the attributes of tensor operations: keys, and constructors of a key with a value of the right
// type.
//
// It is for instrumentation with its own tracer. A span with the attribute [OpName] is an operation. Set all attributes
// with one SetAttributes call, and give the span the operation's name:
//
//	ctx, span := tracer.Start(ctx, "matmul")
//	span.SetAttributes(
//		tensorconv.OpName("matmul"), tensorconv.DeviceID("cuda:0"), tensorconv.DType(op.F32),
//		tensorconv.InputShapes([]int64{64, 784}, []int64{784, 256}), tensorconv.OutputShape(64, 256))
//	defer span.End()
//
// Constructors and keys are named after their attributes, as in OpenTelemetry's own semconv packages: tensor.device.id
// is DeviceID and DeviceIDKey. The package depends on go.opentelemetry.io/otel/attribute and package op only, not on
// the SDK.
package tensorconv

//go:generate go run generate.go
