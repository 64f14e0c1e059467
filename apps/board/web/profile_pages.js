// More pages of profiles: roofline, cores of a pod, predictions, the counters of a TPU v1.
import {el, replace} from './dom.js';
import {bytes, count, duration, num, toNumber} from './format.js';
import {figure, legend, percent, stepChart, table} from './profile_parts.js';
import {rooflineChart} from './roofline_chart.js';
import {microseconds} from './trace_view.js';

const ms = (seconds) => `${num(1e3 * seconds, 4)} ms`;
const kPartColors = ['#4c8bf5', '#d2554a', '#0d9a6c', '#e8710a', '#8b5cf6', '#b08900', '#0891b2', '#d01884', '#b9c3cf'];

const partColor = ([, , color], i) => color ?? kPartColors[i % kPartColors.length];

// A bar divided into parts: [[title, value, colour or nothing], ...].
function stackedBar(parts, total, label) {
  return el('div.stack', {role: 'img', 'aria-label': `${label}: ${parts.map(([title, value]) => `${title} ${percent(value / total)}`).join(', ')}`},
    parts.map((part, i) => part[1] > 0 && el('i', {title: `${part[0]}: ${percent(part[1] / total)}`, style: {width: `${100 * part[1] / total}%`, background: partColor(part, i)}})));
}
const partLegend = (parts) => legend(parts.map((part, i) => [part[0], partColor(part, i)]));

// All figures of <host>.systole.json that concern operations.
export function roofline(page) {
  const peaks = page.peaks || {}, ops = page.ops || [];
  const note = el('p.note', {role: 'status'}, 'Point at an operation to see its figures. The area of a circle is its time.');
  const points = ops.map((op) => ({name: op.name, group: op.category, x: op.intensity, size: op.seconds,
    y: op.seconds > 0 ? op.flops * op.runs / op.seconds : 0, op}));
  const show = (p) => { if (p) note.textContent = `${p.name} (${p.op.scope || 'no name'}): ${ms(p.op.seconds)}, ${num(p.y / 1e9, 4)} GFLOP/s, ${num(p.x, 3)} FLOP/byte, ${percent(p.op.roofline_utilization)} of its roof, limited by ${p.op.limited_by}`; };
  return [el('div.figures', {}, figure('peak', `${num(peaks.flops_per_second / 1e9, 4)} GFLOP/s`, peaks.name), figure('memory', `${num(peaks.bytes_per_second / 1e9, 4)} GB/s`),
    figure('ridge', `${num(peaks.flops_per_second / peaks.bytes_per_second, 3)} FLOP/byte`), figure('of the roofline', percent(page.roofline_utilization ?? 0)),
    figure('useful share of padded products', percent(page.mxu_useful_share ?? 1))),
  el('section.card', {}, el('h3', {}, 'Roofline'), rooflineChart(points, {peak: peaks.flops_per_second, bandwidth: peaks.bytes_per_second, xTitle: 'FLOP per byte of operands and results', yTitle: 'GFLOP/s', yUnit: 1e9}, show), note),
  table([['Operation', (o) => o.name, 'word'], ['Scope', (o) => o.scope], ['Line', (o) => o.source, 'word'], ['Time', (o) => ms(o.seconds), true], ['GFLOP/s', (o) => num(o.seconds > 0 ? o.flops * o.runs / o.seconds / 1e9 : 0, 4), true],
    ['FLOP/byte', (o) => num(o.intensity, 3), true], ['Of its roof', (o) => percent(o.roofline_utilization), true], ['Limit', (o) => o.limited_by, 'word'], ['Wasted', (o) => ms(o.wasted_seconds), true]], ops)];
}

// The parts of a core's step. Files of Cloud TPUs name them one by one, ours in one object.
const kPodParts = [['highFlopsComputeUs', 'large products'], ['crsDurationUs', 'all-reduce'], ['hostInfeedDurationUs', 'infeed'], ['hostOutfeedDurationUs', 'outfeed'], ['sendDurationUs', 'send'], ['recvDurationUs', 'receive']];
const kStepParts = ['compute', 'input', 'all-reduce', 'host', 'launch', 'transfer', 'checkpoint', 'compile', 'other'];
function partsOfCore(core) {
  const total = toNumber(core.totalDurationUs ?? 0), own = core.stepBreakdownUs;
  const parts = own ? [...kStepParts.filter((name) => name in own), ...Object.keys(own).filter((name) => !kStepParts.includes(name))].map((name) => [name, toNumber(own[name])])
    : kPodParts.map(([key, name]) => [name, toNumber(core[key] ?? 0)]);
  if (!own) parts.push(['other', Math.max(0, total - parts.reduce((sum, [, us]) => sum + us, 0))]);
  return {total, parts: parts.map(([name, us], i) => [name, us, kPartColors[i % kPartColors.length]])};
}

export function cores(page) {
  const steps = page.podStatsSequence?.podStatsMap || [], environment = page.runEnvironment || {};
  if (steps.length === 0) return [el('p.empty', {}, 'The profile has no steps.')];
  const body = el('div.profile'), numCores = toNumber(environment.tpuCoreCount ?? 0);
  const coresOf = (step) => Object.entries(step.podStatsPerCore || {}).map(([id, core]) => ({id, ...partsOfCore(core)}));
  // A part that is too small to see in every step is left out.
  const longest = steps.map((step) => coresOf(step).reduce((a, b) => (b.total > a.total ? b : a), {total: 0, parts: []}));
  const seen = new Set(steps.flatMap((step) => coresOf(step).flatMap((c) => c.parts.filter(([, us]) => us > 1e-3 * c.total).map(([name]) => name))));
  const parts = (longest.find((c) => c.parts.length)?.parts || []).filter(([name]) => seen.has(name));
  // All cores of a machine run as one program and have one entry.
  const title = (step, id) => (Object.keys(step.podStatsPerCore || {}).length === 1 && numCores > 1 ? `cores 0 to ${numCores - 1}, one program` : `core ${id}`);
  const show = (step) => {
    const all = coresOf(step), most = Math.max(...all.map((c) => c.total), 1e-9);
    replace(body, el('section.card', {}, el('h3', {}, 'Cores'), partLegend(parts),
      el('div.cores', {}, all.map((c) => [el('span', {}, title(step, c.id)), stackedBar(c.parts.filter(([name]) => seen.has(name)), most, title(step, c.id)), el('span.number', {}, `${num(c.total / 1e3, 4)} ms`)]))),
      (step.allReduceOpDb || []).length > 0 && [el('h3', {}, 'All-reduce'), table([['Operation', (r) => r.name], ['Bytes', (r) => bytes(toNumber(r.dataSize)), true], ['Time', (r) => microseconds(toNumber(r.durationUs)), true], ['Count', (r) => count(toNumber(r.occurrences)), true]], step.allReduceOpDb)],
      (step.channelDb || []).length > 0 && [el('h3', {}, 'Channels'), table([['From core', (r) => r.srcCoreId, true], ['To core', (r) => r.dstCoreId, true], ['Bytes', (r) => bytes(toNumber(r.dataSize)), true], ['Time', (r) => microseconds(toNumber(r.durationUs)), true], ['Operations', (r) => (r.hloNames || []).join(', ')]], step.channelDb)]);
  };
  const select = el('select', {'aria-label': 'Step', onchange: () => show(steps[select.selectedIndex])}, steps.map((s) => el('option', {}, `step ${s.stepNum}`)));
  show(steps[0]);
  const rows = longest.map((core, i) => ({stepnum: steps[i].stepNum, ...Object.fromEntries(core.parts)}));
  return [el('div.figures', {}, figure('cores', count(numCores)), figure('hosts', count(toNumber(environment.hostCount ?? 1))), figure('device', environment.tpuType ?? '–'), figure('steps', count(steps.length))),
    steps.length > 1 && el('section.card', {}, el('h3', {}, 'The longest core of each step'), stepChart(rows, parts.map(([name, , color]) => [name, color, (r) => (r[name] ?? 0) / 1e3]), 'ms')),
    el('div.toolbar', {}, select), body];
}

// A prediction of `systole check --predict`.
export function prediction(page) {
  const parts = [['compute', page.compute_seconds], ['all-reduce', page.all_reduce_seconds], ['overhead', page.overhead_seconds]];
  const total = Math.max(page.step_seconds, 1e-12), training = page.steps * page.step_seconds;
  const waiting = page.step_seconds - parts.reduce((sum, [, seconds]) => sum + seconds, 0);
  if (waiting > 1e-9) parts.push(['waiting for the infeed', waiting, '#b9c3cf']);
  return [el('p.statement', {}, `A step on ${page.system} takes ${ms(page.step_seconds)}, limited by ${page.limit}.`),
    el('div.figures', {}, figure('examples per second', count(page.batch_size / total), `batches of ${num(page.batch_size)}`), figure(`peak of the ${page.unit}`, percent(page.matrix_share)),
      figure('memory of a core', bytes(page.memory_bytes), `of ${bytes(page.memory_limit)}${page.fits ? '' : ': does not fit'}`), page.infeed_seconds > 0 && figure('infeed, beside the others', ms(page.infeed_seconds)),
      page.steps > 0 && figure(`${count(page.steps)} steps`, duration(training), page.price_per_hour > 0 ? `price ${num(page.price_per_hour * training / 3600, 4)}` : '')),
    el('section.card', {}, el('h3', {}, 'Parts of a step'), partLegend(parts), stackedBar(parts, total, 'step')),
    el('h3', {}, 'Operations that take longest'),
    table([['Operation', (o) => o.name], ['Time', (o) => ms(o.seconds), true], ['Share', (o) => percent(o.seconds / total), true], ['Limit', (o) => o.limit, 'word'], ['GFLOP', (o) => num(o.flops / 1e9, 4), true], ['Bytes', (o) => bytes(o.memory_bytes), true]], page.ops || [])];
}

// The counters of `systole tpu-v1 profile`: rows 1, 4, 5 and 6 of table 3 of the paper add up.
const kCounterParts = [['active', 'array active'], ['weight_stall', 'weight stall'], ['weight_shift', 'weight shift'], ['non_matrix', 'non-matrix']];
export function tpuV1(page) {
  const programs = page.programs || [], share = (p, key) => percent(p.cycles > 0 ? p[key] / p.cycles : 0);
  const note = el('p.note', {role: 'status'}, 'Point at a program to see its figures.');
  const points = programs.map((p) => ({name: p.name, group: p.name, x: p.weight_bytes > 0 ? p.multiply_adds / p.weight_bytes : 0, y: p.ops_per_second, size: p.cycles}));
  const show = (p) => { if (p) note.textContent = `${p.name}: ${num(p.y / 1e12, 4)} TOPS, ${num(p.x, 4)} multiply-adds per weight byte`; };
  return [el('div.figures', {}, figure('peak', `${num(page.peak_ops / 1e12, 4)} TOPS`), figure('weight memory', `${num(page.weight_bandwidth / 1e9, 4)} GB/s`), figure('clock', `${num(page.clock_hz / 1e6, 4)} MHz`)),
    el('section.card', {}, el('h3', {}, 'Cycles of the matrix unit'), partLegend(kCounterParts.map(([, title]) => [title])),
      el('div.cores', {}, programs.map((p) => [el('span', {}, p.name), stackedBar(kCounterParts.map(([key, title]) => [title, p[key]]), p.cycles, p.name), el('span.number', {}, microseconds(1e6 * p.cycles / page.clock_hz))]))),
    el('section.card', {}, el('h3', {}, 'Roofline'), rooflineChart(points, {peak: page.peak_ops, bandwidth: 2 * page.weight_bandwidth, xTitle: 'multiply-adds per weight byte', yTitle: 'TOPS', yUnit: 1e12}, show), note),
    table([['Program', (p) => p.name, 'word'], ['Cycles', (p) => Math.round(p.cycles).toLocaleString('en-US'), true], ['TOPS', (p) => num(p.ops_per_second / 1e12, 4), true], ...kCounterParts.map(([key, title]) => [title, (p) => share(p, key), true]), ['RAW stalls', (p) => share(p, 'raw_stall'), true],
      ['Input stalls', (p) => share(p, 'input_stall'), true], ['Unused products', (p) => share(p, 'unused'), true], ['Unified Buffer', (p) => bytes(p.buffer_bytes), true]], programs),
    page.wave && el('section.card', {}, el('h3', {}, 'The wave of the array'), el('img.wave', {alt: 'Weights shift into an array of 8 by 8 cells; vectors pass through it as diagonal waves', src: `data:image/svg+xml,${encodeURIComponent(page.wave)}`}))];
}
