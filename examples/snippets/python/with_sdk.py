"""Operations of torch.profiler as spans, by the OpenTelemetry SDK for Python.

pip install torch opentelemetry-sdk opentelemetry-exporter-otlp-proto-http
"""

import time

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from torch_ops import operations, profiled

# The exporter sends to port 4318 of this machine, or to OTEL_EXPORTER_OTLP_ENDPOINT.
provider = TracerProvider(resource=Resource.create({"service.name": "snippet"}))
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
tracer = provider.get_tracer("engine")

request = tracer.start_span("POST /predict", kind=trace.SpanKind.SERVER, start_time=time.time_ns())
prof = profiled()
request.end(time.time_ns())

contexts = {None: trace.set_span_in_context(request)}
for event, parent, start, end, attributes in operations(prof):
    span = tracer.start_span(
        event.name,
        context=contexts[parent and id(parent)],
        attributes=attributes,
        start_time=start,
    )
    contexts[id(event)] = trace.set_span_in_context(span)
    span.end(end)

provider.shutdown()
