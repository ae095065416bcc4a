// Runs the example once, and compares its reports with the profiles that the runtime wrote.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'

const folder = mkdtempSync(path.join(tmpdir(), 'optrace-onnxruntime-'))
const run = (...args) => execFileSync(path.join(folder, 'optrace'), args, { maxBuffer: 1 << 30, encoding: 'utf8' })
let printed, files, nodes, offline, served, stacks

before(() => {
  printed = execFileSync('./run.sh', { env: { ...process.env, OUT: folder }, encoding: 'utf8' })
  files = readdirSync(folder).filter((f) => /^(detect|recognise)_.*\.json$/.test(f)).map((f) => path.join(folder, f))
  nodes = files.flatMap((f) => JSON.parse(readFileSync(f, 'utf8'))).filter((e) => e.cat === 'Node')
  offline = JSON.parse(run('report', '-json', ...files))
  stacks = readFileSync(path.join(folder, 'requests.folded'), 'utf8').trim().split('\n')
  served = JSON.parse(readFileSync(path.join(folder, 'requests.json'), 'utf8'))
})
after(() => rmSync(folder, { recursive: true }))

test('the pages are read', () => {
  const text = printed.replaceAll('0', 'O') // the drawn letter and digit are alike
  for (const part of ['INVOICE', '318.5O', 'PACKING LIST', 'CHEESE PLATE', 'COFFEE', 'PLATFORM 9']) {
    assert.ok(text.includes(part), `${part} is not in:\n${text}`)
  }
})

test('every operation of the profiles is read', () => {
  assert.equal(files.length, 2)
  assert.ok(nodes.length > 10_000, `${nodes.length} operations`)
  assert.equal(offline.total.count, nodes.length)
  assert.equal(offline.input.malformed, 0)
  assert.deepEqual(offline.input.warnings, {})
  assert.equal(offline.total.memory_bytes, nodes.reduce((sum, e) => sum + Number(e.args.output_size), 0))
})

test('shapes and FLOPs are those of the profile', () => {
  const lines = run('convert', '-to', 'entries', ...files).trim().split('\n').map((line) => JSON.parse(line))
  const entries = lines.filter((e) => e.operation !== undefined) // not the header
  const shapes = (list) => list.map((t) => Object.values(t)[0])
  const want = nodes.map((e) => JSON.stringify([e.args.op_name, shapes(e.args.input_type_shape), shapes(e.args.output_type_shape)[0]]))
  const got = entries.map((e) => JSON.stringify([e.operation, e.input_shapes ?? [], e.output_shape]))
  assert.equal(got.length, want.length)
  got.sort()
  want.sort().forEach((line, i) => assert.equal(got[i], line))

  // Each output of a convolution is a sum over the weights of one of its channels.
  let flops = 0
  for (const e of nodes.filter((e) => e.args.op_name === 'Conv')) {
    const [weights, output] = [shapes(e.args.input_type_shape)[1], shapes(e.args.output_type_shape)[0]]
    flops += 2 * [...output, ...weights.slice(1)].reduce((a, b) => a * b, 1)
  }
  assert.equal(offline.operations.find((o) => o.operation === 'Conv').flops, flops)
})

test('serve has the same operations, below the requests', () => {
  const figures = (report) => report.operations
    .map((o) => [o.operation, o.count, o.sum_ns, o.memory_bytes, o.flops]).sort((a, b) => a[0].localeCompare(b[0]))
  assert.deepEqual(figures(served), figures(offline))
  assert.deepEqual(served.input.warnings, {})
  assert.equal(served.input.orphans, 0)
  assert.equal(served.slowest_request.name, 'POST /read')
  assert.equal(served.slowest_request.service, 'ocr')
  assert.equal(served.slowest_request.alike, 9)
  for (const line of stacks) assert.match(line, /^POST \/read;/)
})
