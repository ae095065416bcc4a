import { readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import ort from 'onnxruntime-node'
import { now } from './clock.js'

// Network runs a model, one run after the other, and remembers when each began and ended, so
// that the runs in the runtime's profile can be told apart.
export class Network {
  #session
  #last = Promise.resolve()

  constructor(name, session, prefix) {
    this.name = name
    this.calls = [] // {start, end, context}, in the order of the runs
    this.prefix = prefix
    this.#session = session
  }

  // load loads a model; its profile comes to lie in the folder.
  static async load(name, model, folder) {
    const prefix = path.join(folder, name)
    for (const file of profiles(prefix)) rmSync(file)
    const session = await ort.InferenceSession.create(model, {
      enableProfiling: true,
      profileFilePrefix: prefix,
      intraOpNumThreads: 1,
      logSeverityLevel: 3,
    })
    return new Network(name, session, prefix)
  }

  // run runs the model on data of a shape, when the runs before it are done, and returns the
  // first output. begin is called with the time as the run begins; the context that it returns is
  // remembered with the run.
  run(data, shape, begin) {
    const result = this.#last.then(async () => {
      const start = now()
      const call = { start, context: begin(start) }
      this.calls.push(call)
      const { inputNames, outputNames } = this.#session
      const outputs = await this.#session.run({ [inputNames[0]]: new ort.Tensor('float32', data, shape) })
      call.end = now()
      return { output: outputs[outputNames[0]], end: call.end }
    })
    this.#last = result.catch(() => {})
    return result
  }

  // close ends the session and returns the file of its profile.
  async close() {
    this.#session.endProfiling()
    await this.#session.release()
    return profiles(this.prefix)[0]
  }
}

// profiles returns the files that profiles with a prefix are in. The runtime appends the date.
function profiles(prefix) {
  const [folder, name] = [path.dirname(prefix), path.basename(prefix) + '_']
  return readdirSync(folder).filter((f) => f.startsWith(name) && f.endsWith('.json')).map((f) => path.join(folder, f))
}
