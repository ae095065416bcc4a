const base = BigInt(Date.now()) * 1000000n - process.hrtime.bigint()

// now returns the time in Unix nanoseconds. It never goes back.
export function now() {
  return base + process.hrtime.bigint()
}

// stamp returns nanoseconds as the SDK takes them.
export function stamp(ns) {
  return [Number(ns / 1000000000n), Number(ns % 1000000000n)]
}
