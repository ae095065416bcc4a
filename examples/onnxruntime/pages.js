// Pages with text, drawn by code: there is no picture in this folder.

// Strokes of the letters on a grid of 8 by 12, x and y as hexadecimal digits: "0c 40 8c"
// is a line from (0,12) by (4,0) to (8,12), and | begins another one.
const strokes = {
  A: '0c 40 8c|28 68', B: '0c 00 60 72 74 66 06|66 88 8a 6c 0c', C: '82 60 20 02 0a 2c 6c 8a', D: '00 50 83 89 5c 0c 00',
  E: '80 00 0c 8c|06 66', F: '80 00 0c|06 66', G: '82 60 20 02 0a 2c 6c 8a 87 57', H: '00 0c|80 8c|06 86', I: '40 4c',
  J: '80 8a 6c 2c 0a', K: '00 0c|80 07|36 8c', L: '00 0c 8c', M: '0c 00 48 80 8c', N: '0c 00 8c 80',
  O: '30 12 04 08 1a 3c 5c 7a 88 84 72 50 30',
  P: '0c 00 60 82 85 67 07', Q: '30 12 04 08 1a 3c 5c 7a 88 84 72 50 30|69 8c', R: '0c 00 60 82 85 67 07|47 8c',
  S: '82 60 20 02 04 26 66 88 8a 6c 2c 0a', T: '00 80|40 4c', U: '00 0a 2c 6c 8a 80', V: '00 4c 80', W: '00 2c 44 6c 80',
  X: '00 8c|80 0c', Y: '00 46 80|46 4c', Z: '00 80 0c 8c',
  0: '40 22 18 2a 4c 6a 68 62 40', 1: '22 40 4c', 2: '02 20 60 82 84 0c 8c', 3: '01 20 60 82 84 66 36|66 88 8a 6c 2c 0b', 4: '6c 60 09 89',
  5: '80 10 05 55 77 8a 6c 2c 0b', 6: '70 30 04 0a 2c 6c 8a 88 66 26 07', 7: '00 80 3c',
  8: '26 04 02 20 60 82 84 66 26 08 0a 2c 6c 8a 88 66', 9: '1c 5c 88 82 60 20 02 04 26 66 85', '.': '4b 4c', '-': '17 77',
}

const advance = 13 // from one letter to the next, in units of the grid
const weight = 0.8 // half the width of a stroke

// segments returns the strokes of a letter as pairs of points.
function segments(letter) {
  return (strokes[letter] ?? '').split('|').flatMap((line) => {
    const points = line.split(' ').filter(Boolean).map((p) => [parseInt(p[0], 16), parseInt(p[1], 16)])
    return points.slice(1).map((to, i) => [points[i], to])
  })
}

// distance is that from the point (x, y) to a segment.
function distance(x, y, [[ax, ay], [bx, by]]) {
  const [dx, dy] = [bx - ax, by - ay]
  const t = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy)))
  return Math.hypot(x - ax - t * dx, y - ay - t * dy)
}

// draw returns a page with lines of text, dark on light, as {width, height, gray}: a byte per pixel.
export function draw(lines, scale = 1.6) {
  const longest = Math.max(...lines.map((line) => line.length))
  const step = Math.round(24 * scale)
  const width = Math.ceil((longest * advance + 16) * scale)
  const height = lines.length * step + Math.ceil(12 * scale)
  const gray = new Uint8Array(width * height).fill(244)
  lines.forEach((line, row) => {
    for (let i = 0; i < line.length; i++) {
      const drawn = segments(line[i])
      const [left, top] = [(8 + i * advance) * scale, row * step + 12 * scale]
      for (let y = Math.floor(top - 2 * scale); y < top + 14 * scale && y < height; y++) {
        for (let x = Math.floor(left - 2 * scale); x < left + 10 * scale && x < width; x++) {
          const near = Math.min(...drawn.map((s) => distance((x - left) / scale, (y - top) / scale, s)))
          const ink = Math.max(0, Math.min(1, (weight - near) * scale + 0.5))
          gray[y * width + x] = Math.min(gray[y * width + x], 244 - 220 * ink)
        }
      }
    }
  })
  return { width, height, gray }
}
