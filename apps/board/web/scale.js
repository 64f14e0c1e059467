// Scales of axes and their ticks.

export function linearScale(domain, range) {
  const [d0, d1] = domain, [r0, r1] = range;
  const k = (r1 - r0) / (d1 - d0 || 1);
  const scale = (v) => r0 + (v - d0) * k;
  scale.invert = (p) => d0 + (p - r0) / k;
  scale.domain = domain;
  return scale;
}

export function logScale(domain, range) {
  const low = domain[0] > 0 ? domain[0] : Math.min(domain[1], 1) / 1e6 || 1e-6;
  const inner = linearScale([Math.log10(low), Math.log10(Math.max(domain[1], low * 1.0001))], range);
  const scale = (v) => (v > 0 ? inner(Math.log10(v)) : NaN);
  scale.invert = (p) => 10 ** inner.invert(p);
  scale.domain = [low, domain[1]];
  return scale;
}

const kTimeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800];

// Returns about `count` round values in the domain. `time` is '', 'relative' or 'wall' (in seconds).
export function axisTicks(scale, log, count, time = '') {
  const [low, high] = scale.domain;
  if (log && high / low >= 10) return logTicks(low, high, count);
  let step = niceStep((high - low) / count);
  if (time && step > 0.5) step = kTimeSteps.find((s) => s >= (high - low) / count) || niceStep((high - low) / count);
  const offset = time === 'wall' ? new Date(low * 1000).getTimezoneOffset() * 60 : 0;
  const ticks = [];
  for (let v = Math.ceil((low - offset) / step) * step + offset; v <= high && ticks.length < 100; v += step) {
    ticks.push(Math.abs(v) < step * 1e-9 ? 0 : Number(v.toPrecision(12)));
  }
  return ticks;
}

function niceStep(raw) {
  const power = 10 ** Math.floor(Math.log10(raw || 1));
  const part = raw / power;
  return (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10) * power;
}

function logTicks(low, high, count) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / count));
  const ticks = [];
  for (let e = first; e <= last; e += every) ticks.push(10 ** e);
  if (ticks.length >= 2) return ticks;
  const more = [];
  for (let e = first - 1; e <= last; ++e) for (const m of [1, 2, 5]) {
    const v = m * 10 ** e;
    if (v >= low && v <= high) more.push(v);
  }
  return more;
}
