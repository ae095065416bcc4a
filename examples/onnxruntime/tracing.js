import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import { stamp } from './clock.js'
import { align, attributes, runs } from './profile.js'

// provider exports to where OTEL_EXPORTER_OTLP_ENDPOINT says, by default port 4318 of this
// machine. The queue holds what comes at once when a profile has been read.
export function provider() {
  const exporter = new OTLPTraceExporter()
  return new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'ocr' }),
    spanProcessors: [new BatchSpanProcessor(exporter, { maxQueueSize: 200_000, maxExportBatchSize: 4096 })],
  })
}

// record makes the operations in a network's profile spans below the spans of the runs that they
// belong to, and returns how many there are.
export function record(tracer, network, file) {
  const profiled = runs(file)
  const { began, error } = align(profiled, network.calls)
  let count = 0
  profiled.forEach((run, i) => {
    for (const node of run.nodes) {
      const options = { startTime: stamp(began + node.start), attributes: attributes(node, error) }
      tracer.startSpan(node.args.op_name, options, network.calls[i].context).end(stamp(began + node.end))
      count++
    }
  })
  return { count, error }
}
