// Runs a network of random weights on ONNX Runtime with its profile on: node onnxruntime.mjs MODULES FOLDER [NAME=N]...
// The folder MODULES has node_modules.
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const [modules, folder, ...flags] = process.argv.slice(2)
const ort = createRequire(path.resolve(modules) + '/')('onnxruntime-node')
const f = { layers: 6, width: 256, hidden: 1024, rows: 64, tanh: 0, fuse: 0, threads: 1, runs: 60 }
for (const flag of flags) f[flag.split('=')[0]] = Number(flag.split('=')[1])

// A model is a message of protocol buffers: fields of a number, and a text, a number or a message.
const varint = (n) => (n < 128 ? [n] : [(n % 128) | 128, ...varint(Math.floor(n / 128))])
const field = (number, value) => {
  if (typeof value === 'number') return Buffer.from([...varint(number * 8), ...varint(value)])
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes])
}
const message = (...fields) => Buffer.concat(fields)
const value = (name, dims) => message(field(1, name), field(2, field(1, message(field(1, 1),
  field(2, message(...dims.map((d) => field(1, field(1, d)))))))))
const weights = (name, dims) => {
  const data = Float32Array.from({ length: dims.reduce((a, b) => a * b) }, () => (Math.random() - 0.5) / 16)
  return message(...dims.map((d) => field(1, d)), field(2, 1), field(8, name), field(9, Buffer.from(data.buffer)))
}
const nodes = []
const initializers = []
let last = 'x'
const add = (type, ...others) => {
  const output = `${type}_${nodes.length}`
  nodes.push(message(field(1, last), ...others.map((o) => field(1, o)), field(2, output), field(3, output), field(4, type)))
  last = output
}
const product = (rows, cols) => {
  const name = `w${initializers.length}`
  initializers.push(weights(name, [rows, cols]))
  add('MatMul', name)
}
initializers.push(weights('bias', [f.hidden]))
for (let layer = 0; layer < f.layers; layer++) {
  product(f.width, f.hidden)
  add('Add', 'bias')
  if (f.tanh) add('Tanh')
  add('Relu')
  product(f.hidden, f.width)
}
const graph = message(...nodes.map((n) => field(1, n)), field(2, 'network'), ...initializers.map((i) => field(5, i)),
  field(11, value('x', [f.rows, f.width])), field(12, value(last, [f.rows, f.width])))
const file = folder + '/network.onnx'
writeFileSync(file, message(field(1, 8), field(7, graph), field(8, field(2, 13))))

const session = await ort.InferenceSession.create(file, {
  enableProfiling: true, profileFilePrefix: folder + '/ort', intraOpNumThreads: f.threads, logSeverityLevel: 3,
  graphOptimizationLevel: f.fuse ? 'all' : 'disabled',
})
const x = new ort.Tensor('float32', new Float32Array(f.rows * f.width).fill(0.5), [f.rows, f.width])
for (let i = 0; i < f.runs; i++) await session.run({ x })
session.endProfiling()
