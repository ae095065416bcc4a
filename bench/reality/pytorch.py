"""Trains a network of random weights with PyTorch and writes its profile: torch.py FOLDER [NAME=N]..."""

import sys

import torch
from torch.profiler import profile, record_function

f = {"layers": 4, "width": 256, "hidden": 512, "rows": 64, "dropout": 0, "gelu": 0, "ahead": 0, "steps": 15}
for flag in sys.argv[2:]:
    name, number = flag.split("=")
    f[name] = int(number)
torch.set_num_threads(1)
layers = []
for _ in range(f["layers"]):
    layers += [torch.nn.Linear(f["width"], f["hidden"]), torch.nn.GELU() if f["gelu"] else torch.nn.ReLU()]
    layers += [torch.nn.Dropout(0.1)] if f["dropout"] else []
    layers += [torch.nn.Linear(f["hidden"], f["width"])]
network = torch.nn.Sequential(*layers)
optimizer = torch.optim.SGD(network.parameters(), 0.01)


def step():
    """Draws an input and trains with it."""
    loss = network(torch.randn(f["rows"], f["width"])).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


for _ in range(3):
    step()
with profile() as recording:
    for number in range(f["steps"]):
        with record_function(f"ProfilerStep#{number}"):
            step()
recording.export_chrome_trace(sys.argv[1] + "/torch.json")
