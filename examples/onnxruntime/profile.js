// The profile that ONNX Runtime writes, and its operations as spans.
import { readFileSync } from 'node:fs'

// runs returns the runs of the model in a profile, in order, each with its operations:
// {start, end, nodes}, where start and end are in nanoseconds since the profile began.
export function runs(file) {
  const events = JSON.parse(readFileSync(file, 'utf8')).filter((e) => e.ph === 'X').map((e) => ({
    ...e, start: BigInt(e.ts) * 1000n, end: BigInt(e.ts + e.dur) * 1000n,
  }))
  const found = events.filter((e) => e.cat === 'Session' && e.name === 'model_run').sort((a, b) => a.ts - b.ts)
  const nodes = events.filter((e) => e.cat === 'Node' && e.args.op_name).sort((a, b) => a.ts - b.ts)
  let next = 0
  return found.map(({ start, end }) => {
    while (next < nodes.length && nodes[next].start < start) next++
    const first = next
    while (next < nodes.length && nodes[next].start <= end) next++
    return { start, end, nodes: nodes.slice(first, next) }
  })
}

// align returns when the profile began, in Unix nanoseconds, and by how much that may be off.
// The profile does not say when that was. But each run lies within the call that asked for it,
// which bounds the beginning from both sides.
export function align(runs, calls) {
  if (runs.length !== calls.length) throw new Error(`${runs.length} runs in the profile, ${calls.length} calls`)
  let [earliest, latest] = [null, null]
  runs.forEach((run, i) => {
    const [from, to] = [calls[i].start - run.start, calls[i].end - run.end]
    if (earliest === null || from > earliest) earliest = from
    if (latest === null || to < latest) latest = to
  })
  // Times in the profile are whole microseconds, so that the bounds may cross by one.
  const [low, high] = earliest < latest ? [earliest, latest] : [latest, earliest]
  return { began: (low + high) / 2n, error: (high - low) / 2n + 1000n }
}

// attributes returns the attributes of an operation, by the conventions of docs/conventions.md.
// What the profile does not say is left out.
export function attributes(node, error) {
  const { args } = node
  const inputs = (args.input_type_shape ?? []).flatMap(Object.entries)
  const outputs = (args.output_type_shape ?? []).flatMap(Object.entries)
  const known = {
    'tensor.op.name': args.op_name,
    'tensor.op.path': node.name.replace(/_kernel_time$/, ''),
    'tensor.device.id': args.provider?.replace(/ExecutionProvider$/, '').toLowerCase(),
    'tensor.input.shapes': inputs.length > 0 ? inputs.map(([, shape]) => JSON.stringify(shape)) : undefined,
    'tensor.input.dtypes': inputs.length > 0 ? inputs.map(([type]) => type) : undefined,
    'tensor.output.shape': outputs[0]?.[1],
    'tensor.dtype': outputs[0]?.[0],
    'tensor.memory.size': args.output_size === undefined ? undefined : Number(args.output_size),
    'tensor.clock.error': Number(error),
  }
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined))
}
