// How PP-OCRv4 reads a page: one network finds the lines, the other reads each of them.
import { readFileSync } from 'node:fs'

// blank and space stand before and after the letters of the dictionary.
export function dictionary(file) {
  return ['', ...readFileSync(file, 'utf8').trimEnd().split('\n'), ' ']
}

// sample returns the gray value of a page at a point between pixels.
function sample({ width, height, gray }, x, y) {
  const clamp = (v, most) => Math.max(0, Math.min(most, v))
  const [x0, y0] = [clamp(Math.floor(x), width - 1), clamp(Math.floor(y), height - 1)]
  const [x1, y1] = [Math.min(x0 + 1, width - 1), Math.min(y0 + 1, height - 1)]
  const [fx, fy] = [clamp(x - x0, 1), clamp(y - y0, 1)]
  const top = gray[y0 * width + x0] * (1 - fx) + gray[y0 * width + x1] * fx
  const bottom = gray[y1 * width + x0] * (1 - fx) + gray[y1 * width + x1] * fx
  return top * (1 - fy) + bottom * fy
}

// tensor returns a part of a page, scaled to a size, as a tensor of three channels.
function tensor(page, box, width, height, mean, deviation) {
  const plane = width * height
  const data = new Float32Array(3 * plane)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const v = sample(page, box.x + ((x + 0.5) * box.width) / width - 0.5, box.y + ((y + 0.5) * box.height) / height - 0.5) / 255
      for (let c = 0; c < 3; c++) data[c * plane + y * width + x] = (v - mean[c]) / deviation[c]
    }
  }
  return { data, shape: [1, 3, height, width] }
}

// pageTensor returns what the network that finds lines takes: sides are multiples of 32.
export function pageTensor(page) {
  const up = (n) => Math.ceil(n / 32) * 32
  const whole = { x: 0, y: 0, width: page.width, height: page.height }
  return tensor(page, whole, up(page.width), up(page.height), [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
}

// lineTensor returns what the network that reads takes: 48 rows, and as many columns as the line has.
export function lineTensor(page, box) {
  const width = Math.max(48, Math.round((box.width * 48) / box.height))
  return tensor(page, box, width, 48, [0.5, 0.5, 0.5], [0.5, 0.5, 0.5])
}

// boxes returns where a page has text, in the order of reading: the parts that hang together of
// where the network is sure of text, and around them what it has shrunk them by.
export function boxes(page, { data, dims }, threshold = 0.3) {
  const [height, width] = dims.slice(2)
  const seen = new Uint8Array(width * height)
  const found = []
  for (let start = 0; start < data.length; start++) {
    if (seen[start] || data[start] < threshold) continue
    let [left, right, top, bottom] = [width, 0, height, 0]
    const stack = [start]
    seen[start] = 1
    while (stack.length > 0) {
      const at = stack.pop()
      const [x, y] = [at % width, Math.floor(at / width)]
      left = Math.min(left, x)
      right = Math.max(right, x + 1)
      top = Math.min(top, y)
      bottom = Math.max(bottom, y + 1)
      for (const [nx, ny] of [[x - 1, y], [x + 1, y], [x, y - 1], [x, y + 1]]) {
        const next = ny * width + nx
        if (nx < 0 || ny < 0 || nx >= width || ny >= height || seen[next] || data[next] < threshold) continue
        seen[next] = 1
        stack.push(next)
      }
    }
    if (right - left < 6 || bottom - top < 6) continue // specks
    const grow = (1.5 * (right - left) * (bottom - top)) / (2 * (right - left + bottom - top))
    const [sx, sy] = [page.width / width, page.height / height]
    const [w, h] = [right - left + 2 * grow, bottom - top + 2 * grow]
    found.push({ x: (left - grow) * sx, y: (top - grow) * sy, width: w * sx, height: h * sy })
  }
  return inRows(found)
}

// inRows sorts boxes as one reads: those that lie beside each other from left to right.
function inRows(found) {
  const rows = []
  for (const box of found.sort((a, b) => a.y - b.y)) {
    const row = rows.at(-1)
    if (row && box.y < row[0].y + row[0].height / 2) row.push(box)
    else rows.push([box])
  }
  return rows.flatMap((row) => row.sort((a, b) => a.x - b.x))
}

// text returns what the network that reads has read: the most probable letter of each column,
// where repeated ones count once.
export function text({ data, dims }, letters) {
  const [columns, classes] = dims.slice(1)
  let [read, last] = ['', 0]
  for (let c = 0; c < columns; c++) {
    const scores = data.subarray(c * classes, (c + 1) * classes)
    let best = 0
    for (let i = 1; i < classes; i++) if (scores[i] > scores[best]) best = i
    if (best !== last) read += letters[best] ?? ''
    last = best
  }
  return read
}
