"""Profiles a file of PyTorch's profiler: kineto.py pandas|hta FILE."""

import gzip
import json
import os
import shutil
import sys
import tempfile


def by_pandas(path):
    """Count, sum, mean and extremes of the durations by name, and sums by device."""
    import pandas

    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt") as f:
        events = [e for e in json.load(f)["traceEvents"] if e.get("ph") == "X" and "dur" in e]
    frame = pandas.DataFrame(
        {
            "name": [e["name"] for e in events],
            "device": [e.get("args", {}).get("device") for e in events],
            "dur": [e["dur"] for e in events],
        }
    )
    print(frame.groupby("name")["dur"].agg(["count", "sum", "mean", "min", "max"]).sort_values("sum").tail(10))
    print(frame.groupby("device")["dur"].sum())


def by_hta(path):
    """What HTA's introduction shows first, over a directory that holds the file."""
    from hta.trace_analysis import TraceAnalysis

    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(path, os.path.join(directory, os.path.basename(path)))
        analyzer = TraceAnalysis(trace_dir=directory)
        print(analyzer.get_temporal_breakdown(visualize=False))
        print(analyzer.get_gpu_kernel_breakdown(visualize=False))


if __name__ == "__main__":
    {"pandas": by_pandas, "hta": by_hta}[sys.argv[1]](sys.argv[2])
