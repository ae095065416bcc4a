"""Records the traces beside this file with PyTorch's profiler on an NVIDIA GPU, and in truth.json what the profiler itself says of them.

    python3 record.py DIR

Those here were recorded on an NVIDIA H100 80GB HBM3, driver 580.159, with PyTorch 2.11.0 for CUDA 13.0, on 27 November 2026.
"""
import gzip, json, os, sys, time
import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, record_function, schedule

out, truth = sys.argv[1], {}


def record(name, step, warmup=3):
    path, rows = os.path.join(out, name + ".json"), truth.setdefault(name, [])

    def ready(prof):
        prof.export_chrome_trace(path)
        for e in prof.key_averages():
            if e.self_device_time_total or e.flops:
                rows.append(dict(key=e.key, host="CPU" in str(e.device_type), count=e.count,
                                 device_self_us=round(e.self_device_time_total, 3), flops=e.flops))

    for _ in range(2):
        step()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True, with_flops=True, profile_memory=name == "allocator",
                 schedule=schedule(wait=0, warmup=warmup, active=3, repeat=1), on_trace_ready=ready) as prof:
        for _ in range(warmup + 3):
            step()
            prof.step()
    with open(path, "rb") as f, gzip.open(path + ".gz", "wb") as g:
        g.write(f.read())
    os.remove(path)


def gemm():
    for _ in range(10):
        torch.mm(a, b)
    torch.cuda.synchronize()


def sync():
    total = 0.0
    for _ in range(40):
        total += (c * 1.0001).sum().item()
        time.sleep(0.0005)


def pageable():
    x = h.to("cuda")
    x[: 4096 * 4096].view(4096, 4096) @ c
    torch.cuda.synchronize()


def allocator():
    for _ in range(5):
        held = [torch.mm(d, d) for _ in range(8)]
        del held
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


class Block(torch.nn.Module):
    def __init__(self, d=1024, heads=16):
        super().__init__()
        self.heads, self.n1, self.n2 = heads, torch.nn.LayerNorm(d), torch.nn.LayerNorm(d)
        self.qkv, self.o = torch.nn.Linear(d, 3 * d), torch.nn.Linear(d, d)
        self.up, self.down = torch.nn.Linear(d, 4 * d), torch.nn.Linear(4 * d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.n2(x))))


def captured(tokens):
    x = torch.randn(4, tokens, 1024, device="cuda", dtype=torch.bfloat16)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x)
    return graph


def graphs():
    with record_function("prefill"):
        prefill.replay()
    for _ in range(8):
        with record_function("decode"):
            decode.replay()
    torch.cuda.synchronize()


def compiled():
    torch.compiler.cudagraph_mark_step_begin()
    fast(x)
    torch.cuda.synchronize()


torch.manual_seed(0)
a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
c, d, h = torch.randn(4096, 4096, device="cuda"), torch.randn(2048, 2048, device="cuda"), torch.randn(64 << 20)
for f in gemm, sync, pageable, allocator:
    record(f.__name__, f)
with torch.no_grad():
    model = torch.nn.Sequential(*[Block() for _ in range(12)]).to("cuda", torch.bfloat16).eval()
    prefill, decode = captured(128), captured(1)
    record("graphs", graphs)
    fast, x = torch.compile(model, mode="reduce-overhead"), torch.randn(4, 16, 1024, device="cuda", dtype=torch.bfloat16)
    record("compiled", compiled, warmup=4)
json.dump(truth, open(os.path.join(out, "truth.json"), "w"))
