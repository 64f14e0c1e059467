// The page of histograms: percentiles over the steps, or the shapes one after the other.
import {getJson} from './api.js';
import {context, cssColor, el, replace} from './dom.js';
import {num, runColor, toNumber} from './format.js';
import {CardsPage, cardFrame, failure} from './page.js';
import {axisTicks, linearScale} from './scale.js';

const kHeight = 230, kBins = 60;
const kPercentiles = ['minimum', '7 %', '16 %', '31 %', 'median', '69 %', '84 %', '93 %', 'maximum'];
let mode = 'distribution';

function axes(ctx, {area, x, y}) {
  ctx.font = '11px system-ui, sans-serif';
  ctx.fillStyle = cssColor('--dim');
  ctx.strokeStyle = cssColor('--grid');
  ctx.textAlign = 'center';
  ctx.textBaseline = 'top';
  for (const tick of axisTicks(x, false, (area.right - area.left) / 90)) {
    ctx.fillText(num(tick, 4), x(tick), area.bottom + 6);
    stroke(ctx, [[x(tick), area.top], [x(tick), area.bottom]]);
  }
  ctx.textAlign = 'right';
  ctx.textBaseline = 'middle';
  if (y) for (const tick of axisTicks(y, false, 5)) {
    ctx.fillText(num(tick, 3), area.left - 6, y(tick));
    stroke(ctx, [[area.left, y(tick)], [area.right, y(tick)]]);
  }
}

function stroke(ctx, points) {
  ctx.beginPath();
  points.forEach(([px, py], i) => (i ? ctx.lineTo(px, py) : ctx.moveTo(px, py)));
  ctx.stroke();
}

function drawDistribution(ctx, width, rows, color) {
  const area = {left: 56, right: width - 10, top: 8, bottom: kHeight - 24};
  const values = rows.flatMap((r) => r.percentiles);
  const low = Math.min(...values), high = Math.max(...values), pad = (high - low) * 0.05 || 0.5;
  const steps = rows.map((r) => r.step);
  const view = {area, x: linearScale([Math.min(...steps), Math.max(...steps)], [area.left, area.right]), y: linearScale([low - pad, high + pad], [area.bottom, area.top])};
  axes(ctx, view);
  ctx.fillStyle = color;
  ctx.strokeStyle = color;
  for (let k = 0; k < 4; ++k) {  // bands from the outside in
    ctx.globalAlpha = 0.16 + 0.06 * k;
    ctx.beginPath();
    rows.forEach((r, i) => ctx[i ? 'lineTo' : 'moveTo'](view.x(r.step), view.y(r.percentiles[k])));
    [...rows].reverse().forEach((r) => ctx.lineTo(view.x(r.step), view.y(r.percentiles[8 - k])));
    ctx.fill();
  }
  ctx.globalAlpha = 1;
  ctx.lineWidth = 1.6;
  stroke(ctx, rows.map((r) => [view.x(r.step), view.y(r.percentiles[4])]));
  return view;
}

// Spreads the counts of buckets over equal bins, as the density of each bucket says.
export function rebin(buckets, low, high, bins) {
  const out = new Array(bins).fill(0), width = (high - low) / bins || 1;
  for (const [left, right, total] of buckets) {
    const first = Math.min(Math.max(Math.floor((left - low) / width), 0), bins - 1);
    const last = Math.min(Math.max(Math.ceil((right - low) / width) - 1, first), bins - 1);
    if (first === last || right <= left) { out[first] += total; continue; }
    for (let b = first; b <= last; ++b) {
      const overlap = Math.min(right, low + (b + 1) * width) - Math.max(left, low + b * width);
      out[b] += Math.max(0, overlap) / (right - left) * total;
    }
  }
  return out;
}

function drawShapes(ctx, width, rows, color) {
  const area = {left: 16, right: width - 48, top: 50, bottom: kHeight - 24};
  const low = Math.min(...rows.map((r) => r.percentiles[0])), high = Math.max(...rows.map((r) => r.percentiles[8]));
  const x = linearScale(low === high ? [low - 0.5, high + 0.5] : [low, high], [area.left, area.right]);
  axes(ctx, {area, x});
  const shown = rows.length > 40 ? rows.filter((_, i) => i % Math.ceil(rows.length / 40) === 0) : rows;
  const shapes = shown.map((r) => rebin(r.buckets, x.domain[0], x.domain[1], kBins));
  const most = Math.max(...shapes.flat(), 1e-30);
  const depth = (area.bottom - area.top - 10) / Math.max(shown.length, 1);
  shapes.forEach((shape, i) => {
    const base = area.top + 10 + depth * (i + 1), lift = 54;
    const points = shape.map((c, b) => [area.left + (b + 0.5) / kBins * (area.right - area.left), base - c / most * lift]);
    ctx.beginPath();
    ctx.moveTo(area.left, base);
    points.forEach(([px, py]) => ctx.lineTo(px, py));
    ctx.lineTo(area.right, base);
    ctx.fillStyle = cssColor('--panel');
    ctx.globalAlpha = 1;
    ctx.fill();
    ctx.fillStyle = color;
    ctx.globalAlpha = 0.2 + 0.6 * (i + 1) / shapes.length;
    ctx.fill();
    ctx.globalAlpha = 1;
    ctx.strokeStyle = cssColor('--panel');
    ctx.lineWidth = 0.8;
    stroke(ctx, points);
  });
  ctx.fillStyle = cssColor('--dim');
  ctx.textAlign = 'left';
  ctx.textBaseline = 'middle';
  [0, shown.length - 1].forEach((i) => shown[i] && ctx.fillText(num(shown[i].step, 6), area.right + 6, area.top + 10 + depth * (i + 1)));
  return {area, x};
}

function makeCard(tag, run) {
  const {root, body, note} = cardFrame(tag, run);
  const canvas = el('canvas', {role: 'img', tabIndex: 0});
  const tip = el('div.tip', {hidden: true});
  const plot = el('div.plot', {}, canvas, tip);
  const table = el('p.note');
  replace(body, plot, table);
  let rows = [], view = null;
  const draw = () => {
    if (!rows.length || !plot.clientWidth) return;
    const ctx = context(canvas, plot.clientWidth, kHeight);
    view = (mode === 'distribution' ? drawDistribution : drawShapes)(ctx, plot.clientWidth, rows, runColor(run.id));
    const last = rows[rows.length - 1];
    table.textContent = `step ${num(last.step)}: median ${num(last.percentiles[4])}, from ${num(last.percentiles[0])} to ${num(last.percentiles[8])}`;
    canvas.setAttribute('aria-label', `${tag} of ${run.name}; ${table.textContent}`);
    root.dataset.rows = rows.length;
  };
  canvas.addEventListener('pointermove', (event) => {
    if (mode !== 'distribution' || !view || !rows.length) return;
    const step = view.x.invert(event.offsetX);
    const row = rows.reduce((a, b) => (Math.abs(b.step - step) < Math.abs(a.step - step) ? b : a));
    replace(tip, el('table', {}, el('tbody', {}, el('tr', {}, el('td', {}, 'step'), el('td.number', {}, num(row.step))),
      kPercentiles.map((name, i) => el('tr', {}, el('td', {}, name), el('td.number', {}, num(row.percentiles[i])))).reverse())));
    tip.hidden = false;
    tip.style.left = `${Math.min(event.offsetX + 14, plot.clientWidth - 150)}px`;
    tip.style.top = '10px';
  });
  canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
  const observer = new ResizeObserver(draw);
  observer.observe(plot);
  document.addEventListener('theme', draw);
  return {
    root, draw,
    async load() {
      try {
        const answer = await getJson('api/histograms', {run: run.name, tag, most: 80});
        rows = answer.rows.map((r) => ({step: r.step, percentiles: r.percentiles.map(toNumber), buckets: r.buckets.map((b) => b.map(toNumber))}));
        note.title = `${answer.total} steps`;
        draw();
      } catch (error) { replace(body, failure(error)); }
    },
    close() { observer.disconnect(); document.removeEventListener('theme', draw); },
  };
}

export const histogramsPage = {
  id: 'histograms', title: 'Histograms',
  available: (m) => m.hasTags('histograms'),
  open(root) {
    const button = (name, title) => el('button.small', {'aria-pressed': String(mode === name), data: {mode: name}, onclick: () => {
      mode = name;
      for (const b of root.querySelectorAll('[data-mode]')) b.setAttribute('aria-pressed', String(b.dataset.mode === mode));
      page.reload();
    }}, title);
    const page = new CardsPage(root, 'histograms', makeCard, [button('distribution', 'Percentiles'), button('shapes', 'Shapes')]);
    return page;
  },
};
