// Tensor operations as spans, by the OpenTelemetry SDK for JavaScript.
import { context, SpanKind, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'

// The exporter sends to port 4318 of this machine, or to OTEL_EXPORTER_OTLP_ENDPOINT.
const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'snippet' }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
})
const tracer = provider.getTracer('engine')

// operation runs work as an operation below the context's span. inputs and output are shapes.
// Attributes do not nest in JavaScript: the shapes of the inputs are texts, "[64,784]".
function operation(parent, name, path, inputs, output, work) {
  const span = tracer.startSpan(name, {}, parent)
  try {
    return work()
  } finally {
    span.setAttributes({
      'tensor.op.name': name,
      'tensor.op.path': path,
      'tensor.device.id': 'cpu',
      'tensor.input.shapes': inputs.map((shape) => JSON.stringify(shape)),
      'tensor.output.shape': output,
      'tensor.dtype': 'f32',
    })
    span.end()
  }
}

function matmul(a, b, rows, inner, columns) {
  const out = new Float32Array(rows * columns)
  for (let i = 0; i < rows; i++) {
    for (let k = 0; k < inner; k++) {
      const v = a[i * inner + k]
      for (let j = 0; j < columns; j++) out[i * columns + j] += v * b[k * columns + j]
    }
  }
  return out
}

const request = tracer.startSpan('POST /predict', { kind: SpanKind.SERVER })
const below = trace.setSpan(context.active(), request)
const [x, w] = [new Float32Array(64 * 784).fill(0.5), new Float32Array(784 * 256).fill(-0.25)]
const h = operation(below, 'matmul', 'dense', [[64, 784], [784, 256]], [64, 256], () => matmul(x, w, 64, 784, 256))
operation(below, 'relu', 'dense', [[64, 256]], [64, 256], () => h.map((v) => Math.max(v, 0)))
operation(below, 'sum', 'loss', [[64, 256]], [], () => h.reduce((a, b) => a + b))
request.end()

await provider.shutdown()
