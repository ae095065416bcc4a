"""The operations that torch.profiler has seen, with attributes by the conventions."""


def operations(prof):
    """Yields (event, parent, start, end, attributes) for each operation, parents first.

    start and end are in Unix nanoseconds. parent is an event, or None.
    """
    results = prof.profiler.kineto_results  # times of events count from its start
    if hasattr(results, "trace_start_ns"):
        origin = results.trace_start_ns()
    else:
        origin = results.trace_start_us() * 1000  # before PyTorch 2.3
    # Annotations, and what is the profiler's own, are left out.
    kept = [event for event in prof.events() if event.name.startswith("aten::")]
    ids = {id(event) for event in kept}
    for event in sorted(kept, key=lambda e: (e.time_range.start, depth(e))):
        parent = event.cpu_parent
        while parent is not None and id(parent) not in ids:
            parent = parent.cpu_parent
        start = origin + round(event.time_range.start * 1000)
        end = origin + round(event.time_range.end * 1000)
        yield event, parent, start, end, attributes(event)


def depth(event):
    """Returns how many events an event is below."""
    return 0 if event.cpu_parent is None else 1 + depth(event.cpu_parent)


def attributes(event):
    """Returns the attributes of an operation. What the profiler does not know is left out."""
    known = {"tensor.op.name": event.name, "tensor.device.id": "cpu"}
    if event.input_shapes:
        # The profiler has [] for a scalar and for what is no tensor: not known.
        known["tensor.input.shapes"] = [str(shape) if shape else "?" for shape in event.input_shapes]
    if event.flops:
        known["tensor.op.flop_count"] = event.flops
    return known


def profiled():
    """Returns the profile of a small network at work."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    model = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_flops=True) as prof:
        model(torch.randn(64, 784))
    return prof
