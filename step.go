package optrace

import "context"

type stepKey struct{}

// ContextWithStep returns a context in which operations belong to the given
// iteration of a training or generation loop. Operations started below inherit
// it.
func ContextWithStep(ctx context.Context, step int64) context.Context {
	return context.WithValue(ctx, stepKey{}, step)
}

// stepFromContext returns the iteration that ctx carries.
func stepFromContext(ctx context.Context) (step int64, ok bool) {
	step, ok = ctx.Value(stepKey{}).(int64)
	return step, ok
}
