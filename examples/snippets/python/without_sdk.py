"""Operations of torch.profiler as a line of OTLP in JSON, by the standard library.

python3 without_sdk.py | optrace report -
"""

import json
import secrets
import time

from torch_ops import operations, profiled


def value(v):
    """Returns an attribute's value as OTLP has it in JSON."""
    if isinstance(v, list):
        return {"arrayValue": {"values": [value(e) for e in v]}}
    if isinstance(v, int):
        return {"intValue": str(v)}
    return {"stringValue": v}


def key_values(attributes):
    return [{"key": k, "value": value(v)} for k, v in attributes.items()]


trace_id, request_id = secrets.token_hex(16), secrets.token_hex(8)
begin = time.time_ns()
prof = profiled()
request = {
    "traceId": trace_id, "spanId": request_id, "name": "POST /predict", "kind": 2,
    "startTimeUnixNano": str(begin), "endTimeUnixNano": str(time.time_ns()),
}

spans, ids = [request], {None: request_id}
for event, parent, start, end, attributes in operations(prof):
    ids[id(event)] = secrets.token_hex(8)
    spans.append({
        "traceId": trace_id, "spanId": ids[id(event)], "parentSpanId": ids[parent and id(parent)],
        "name": event.name, "kind": 1, "startTimeUnixNano": str(start), "endTimeUnixNano": str(end),
        "attributes": key_values(attributes),
    })

resource = {"attributes": key_values({"service.name": "snippet"})}
print(json.dumps({"resourceSpans": [{
    "resource": resource, "scopeSpans": [{"scope": {"name": "engine"}, "spans": spans}],
}]}))
