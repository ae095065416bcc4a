// Colours. The kind of an operation decides the range of the hue, by a palette for impaired colour vision; the name
// decides the hue in this range and the lightness.

// HUES has the hue, saturation, lightness and range of hues of each kind, in the order of KINDS. The ranges are apart.
const HUES = [
  [220, 6, 55, 0],
  [207, 62, 46, 26],
  [28, 76, 50, 6],
  [160, 60, 38, 12],
  [314, 36, 52, 16],
  [46, 74, 46, 8],
  [216, 14, 76, 0],
  [262, 26, 62, 18],
  [190, 18, 72, 0],
  [280, 12, 68, 0],
  [280, 12, 76, 0],
  [0, 76, 44, 0],
];

// KIND_FAILED replaces the kind of a failed row.
export const KIND_FAILED = 11;

// isPale reports whether a kind, of spans and of the host's rows, is to stand back.
const isPale = (kind) => kind >= 6 && kind < KIND_FAILED;

// hash returns a small hash of a text.
export function hash(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return h >>> 0;
}

// channel and luminance follow the WCAG's definition of contrast.
function channel(c) {
  return c <= 0.03928 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4);
}

function luminance([r, g, b]) {
  return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
}

// toRGB converts a hue in degrees, saturation and lightness to red, green and
// blue, all but the hue between 0 and 1.
function toRGB(h, s, l) {
  const a = s * Math.min(l, 1 - l);
  return [0, 8, 4].map((n) => {
    const k = (n + h / 30) % 12;
    return l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1));
  });
}

// boxColors returns the colour of a box, also as a pixel of an ImageData on a little-endian machine, and the colour of
// text on it; their contrast is at least 4.5.
export function boxColors(kind, name, dark) {
  const [hue, saturation, lightness, range] = HUES[kind] ?? HUES[0],
    number = hash(name),
    shade = (number % 5) * 3,
    turn = (((number >>> 8) % 7) / 3 - 1) * range;
  const light = isPale(kind) ? (dark ? 28 + shade / 2 : lightness + 6 - shade / 2) : lightness + (dark ? 6 : 0) + shade;
  const rgb = toRGB((hue + turn + 360) % 360, saturation / 100, light / 100),
    y = luminance(rgb);
  const [r, g, b] = rgb.map((x) => Math.round(x * 255));
  return {
    fill: `rgb(${r} ${g} ${b})`,
    pixel: ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0,
    text: (y + 0.05) / 0.05 >= 1.05 / (y + 0.05) ? "#000" : "#fff",
  };
}

// kindColor returns the plain colour of a kind.
export function kindColor(kind, dark) {
  const [hue, saturation, lightness] = HUES[kind] ?? HUES[0];
  return `hsl(${hue} ${saturation}% ${isPale(kind) && dark ? 35 : lightness + (dark ? 6 : 0)}%)`;
}

// kindPixel returns the plain colour of a kind as a pixel, see boxColors.
export function kindPixel(kind, dark) {
  const [hue, saturation, lightness] = HUES[kind] ?? HUES[0],
    light = isPale(kind) && dark ? 35 : lightness + (dark ? 6 : 0);
  const [r, g, b] = toRGB(hue, saturation / 100, light / 100).map((x) => Math.round(x * 255));
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}
