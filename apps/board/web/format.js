// Numbers, times and colours as the page shows them.

// JSON has no NaN: the server sends the strings "NaN", "Infinity" and "-Infinity".
export const toNumber = (v) => (typeof v === 'number' ? v : Number(v));

// Returns a number with at most `digits` significant digits.
export function num(v, digits = 5) {
  v = toNumber(v);
  if (Number.isNaN(v)) return 'NaN';
  if (!Number.isFinite(v)) return v > 0 ? '∞' : '−∞';
  if (v === 0) return '0';
  const size = Math.abs(v);
  if (Number.isInteger(v) && size < 1e7) return v.toLocaleString('en-US').replace('-', '−');
  const text = size >= 1e7 || size < 1e-4 ? v.toExponential(Math.max(0, digits - 1)).replace(/\.?0+e/, 'e')
    : String(Number(v.toPrecision(digits)));
  return text.replace('-', '−').replace('e+', 'e');
}

// Returns a count: 1.2k, 34M.
export function count(v) {
  const units = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e4, 'k', 1e3]];
  for (const [from, unit, by] of units) if (Math.abs(v) >= from) return `${Number((v / (by || from)).toPrecision(3))}${unit}`;
  return num(v);
}

export function bytes(v) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let i = 0;
  while (v >= 1000 && i < units.length - 1) { v /= 1000; ++i; }
  return `${Number(v.toPrecision(3))} ${units[i]}`;
}

// Returns seconds as 5.2 s, 3m 20s, 2h 05m, 3d 4h.
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return '–';
  const sign = seconds < 0 ? '−' : '';
  let s = Math.abs(seconds);
  if (s < 1) return `${sign}${num(s * 1000, 3)} ms`;
  if (s < 60) return `${sign}${Number(s.toPrecision(3))} s`;
  s = Math.round(s);
  const pad = (v) => String(v).padStart(2, '0');
  if (s < 3600) return `${sign}${Math.floor(s / 60)}m ${pad(s % 60)}s`;
  if (s < 86400) return `${sign}${Math.floor(s / 3600)}h ${pad(Math.floor(s / 60) % 60)}m`;
  return `${sign}${Math.floor(s / 86400)}d ${Math.floor(s / 3600) % 24}h`;
}

export function wallTime(seconds) {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return '–';
  const pad = (v) => String(v).padStart(2, '0');
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

export function ago(seconds, now = Date.now() / 1000) {
  const age = now - seconds;
  return age < 5 ? 'just now' : `${duration(age)} ago`;
}

// Twelve colours that differ for most kinds of colour vision, on light and dark ground.
const kColors = ['#0f6fde', '#e8710a', '#0d9a6c', '#d01884', '#8b5cf6', '#b08900', '#0891b2', '#dc2626',
  '#65870f', '#7c6f64', '#4f61d6', '#c2570c'];
const chosenColors = new Map();  // by the number of the run

// Sets the colours that the user has chosen: a map from numbers of runs to "#rrggbb".
export function setRunColors(colors) {
  chosenColors.clear();
  for (const [id, color] of colors) chosenColors.set(id, color);
}

// The hue of a run beyond the list goes round the circle by the golden angle: neighbours differ.
function furtherColor(id) {
  const hue = (id * 137.508) % 360, light = 0.42 + 0.08 * (id % 3), spread = 0.62 * Math.min(light, 1 - light);
  const part = (n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (light - spread * Math.max(-1, Math.min(k - 3, 9 - k, 1)))).toString(16).padStart(2, '0');
  };
  return `#${part(0)}${part(8)}${part(4)}`;
}

// Returns the colour of a run as "#rrggbb".
export const runColor = (id) => chosenColors.get(id) ?? (id < kColors.length ? kColors[id] : furtherColor(id));

// Compiles a filter as the user types it: a regular expression without regard to case.
export function compileFilter(text) {
  if (!text) return {test: () => true, error: ''};
  try {
    const pattern = new RegExp(text, 'i');
    return {test: (name) => pattern.test(name), error: ''};
  } catch (error) {
    return {test: () => false, error: 'not a regular expression'};
  }
}
