// The memory page of profiles: what a program keeps in memory at each place of it, and its largest arrays.
import {context, cssColor, el} from './dom.js';
import {bytes, count, toNumber} from './format.js';
import {drawYAxis, figure, table} from './profile_parts.js';
import {linearScale} from './scale.js';

const kHeight = 200, kFill = '#4c8bf5', kBase = '#b9c3cf';

// Bytes that [begin, end) ranges, sorted by begin, cover together.
function covered(ranges) {
  let sum = 0, reached = 0;
  for (const [begin, end] of ranges) {
    sum += Math.max(0, end - Math.max(begin, reached));
    reached = Math.max(reached, end);
  }
  return sum;
}

// The bytes of temporary arrays after each allocation and release, in program order, and the arrays at the peak.
function heapUse(assignment) {
  const places = new Map();
  for (const allocation of assignment.bufferAllocations || []) {
    for (const a of allocation.assigned || []) places.set(a.logicalBufferId, [toNumber(a.offset ?? 0), toNumber(a.offset ?? 0) + toNumber(a.size ?? 0)]);
  }
  const use = {values: [0], peak: 0, atPeak: []}, alive = new Map();
  for (const event of assignment.heapSimulatorTraces?.[0]?.events || []) {
    if (event.kind === 'FREE') alive.delete(event.bufferId);
    else if (places.has(event.bufferId)) alive.set(event.bufferId, places.get(event.bufferId));
    const value = covered([...alive.values()].sort((a, b) => a[0] - b[0]));
    use.values.push(value);
    if (value > use.peak) Object.assign(use, {peak: value, atPeak: [...alive.keys()]});
  }
  return use;
}

function area(ctx, x, y, values, base, color) {
  ctx.fillStyle = color;
  ctx.beginPath();
  ctx.moveTo(x(0), y(base));
  values.forEach((value, i) => { ctx.lineTo(x(i), y(base + value)); ctx.lineTo(x(i + 1), y(base + value)); });
  ctx.lineTo(x(values.length), y(base));
  ctx.fill();
}

// Fixed memory below, temporary arrays above it.
function memoryChart(values, base) {
  const canvas = el('canvas', {role: 'img', 'aria-label': 'Memory in use over the program'}), box = el('div.plot', {}, canvas);
  const draw = () => {
    const width = box.clientWidth;
    if (!width) return;
    const ctx = context(canvas, width, kHeight), left = 70, right = width - 10, bottom = kHeight - 24;
    const top = base + Math.max(...values), y = linearScale([0, top * 1.05 || 1], [bottom, 8]), x = linearScale([0, values.length], [left, right]);
    drawYAxis(ctx, y, {left, right}, [0, 0.25, 0.5, 0.75, 1].map((share) => share * top), bytes);
    area(ctx, x, y, values.map(() => base), 0, kBase);
    area(ctx, x, y, values, base, kFill);
    ctx.fillStyle = cssColor('--dim');
    ctx.textAlign = 'center';
    ctx.fillText('program order: allocations and releases', (left + right) / 2, bottom + 14);
  };
  new ResizeObserver(draw).observe(box);
  return box;
}

const shapeText = (shape) => (shape ? `${(shape.elementType || '').toLowerCase()}[${(shape.dimensions || []).join(',')}]` : '');

// The file of the memory viewer: the program, its buffers and their places.
export function memory(page) {
  const assignment = page.hloModule ? page.bufferAssignment || {} : {};
  const instructions = new Map((page.hloModule?.computations || []).flatMap((c) => c.instructions || []).map((x) => [x.name, x]));
  const allocations = assignment.bufferAllocations || [], size = (list) => list.reduce((sum, a) => sum + toNumber(a.size ?? 0), 0);
  const fixed = size(allocations.filter((a) => a.isEntryComputationParameter || a.isConstant || a.maybeLiveOut));
  const use = heapUse(assignment), atPeak = new Set(use.atPeak);
  const buffers = (assignment.logicalBuffers || []).map((b) => {
    const name = b.definedAt?.instructionName ?? '', x = instructions.get(name), from = x?.metadata || {};
    return {name, size: toNumber(b.size ?? 0), shape: shapeText(x?.shape), scope: from.opName || '', source: from.sourceFile ? `${from.sourceFile}:${from.sourceLine}` : '', peak: atPeak.has(b.id)};
  });
  buffers.sort((a, b) => b.size - a.size);
  return [el('div.figures', {}, figure('all allocations', bytes(size(allocations))), figure('arguments, results, constants', bytes(fixed)), figure('peak of temporary arrays', bytes(use.peak)),
    figure('arrays', count(buffers.length)), figure('largest array', buffers.length ? bytes(buffers[0].size) : '–')),
    use.values.length > 1 && el('section.card', {}, el('h3', {}, 'Memory in use'), memoryChart(use.values, fixed), el('p.note', {}, 'Below: arguments, results and constants. Above: temporary arrays; those that share memory count once.')),
    el('h3', {}, 'Largest arrays'), table([['Array', (r) => r.name], ['Type', (r) => r.shape, 'word'], ['Scope', (r) => r.scope], ['Line', (r) => r.source, 'word'], ['At the peak', (r) => (r.peak ? 'yes' : '')], ['Size', (r) => bytes(r.size), true]], buffers)];
}
