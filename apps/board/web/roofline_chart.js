// The roofline: performance against arithmetic intensity, both logarithmic, below the limits of a machine.
// Source: Williams, Waterman, Patterson, "Roofline", 2009.
import {context, cssColor, el} from './dom.js';
import {num, runColor} from './format.js';
import {drawYAxis, legend} from './profile_parts.js';
import {axisTicks, logScale} from './scale.js';

const kHeight = 360;

function domains(points, peak, bandwidth) {
  const ridge = peak / bandwidth;
  const xs = [...points.map((p) => p.x), ridge], ys = [...points.map((p) => p.y), peak];
  return [[Math.min(...xs) / 2, Math.max(...xs) * 4], [Math.min(...ys) / 2, Math.max(...ys) * 3]];
}

function drawAxes(ctx, x, y, area, options) {
  drawYAxis(ctx, y, area, axisTicks(y, true, 6), (tick) => num(tick / options.yUnit, 3));
  ctx.textAlign = 'center';
  for (const tick of axisTicks(x, true, 8)) {
    ctx.fillStyle = cssColor('--dim');
    ctx.fillText(num(tick, 3), x(tick), area.bottom + 12);
  }
  ctx.fillText(options.xTitle, (area.left + area.right) / 2, area.bottom + 28);
  ctx.textAlign = 'left';
  ctx.fillText(options.yTitle, area.left + 4, area.top + 4);
}

function drawRoof(ctx, x, y, peak, bandwidth) {
  const [low, high] = x.domain, ridge = peak / bandwidth;
  ctx.strokeStyle = cssColor('--text');
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  ctx.moveTo(x(low), y(low * bandwidth));
  ctx.lineTo(x(ridge), y(peak));
  ctx.lineTo(x(high), y(peak));
  ctx.stroke();
  ctx.lineWidth = 1;
}

// Points are {name, x, y, size, group}: size is an area, group gives the colour. `select(point)` is called for the point under
// the pointer, or null. Returns an element.
export function rooflineChart(points, {peak, bandwidth, xTitle, yTitle, yUnit}, select) {
  const shown = points.filter((p) => p.x > 0 && p.y > 0);
  const groups = [...new Set(shown.map((p) => p.group))];
  const canvas = el('canvas', {role: 'img', 'aria-label': `Roofline of ${shown.length} operations; the table below has the same figures`});
  const box = el('div.plot', {}, canvas);
  const most = Math.max(...shown.map((p) => p.size), 1e-12);
  let placed = [];
  const draw = () => {
    const width = box.clientWidth;
    if (!width) return;
    const ctx = context(canvas, width, kHeight);
    const area = {left: 62, right: width - 10, top: 10, bottom: kHeight - 40};
    const [xDomain, yDomain] = domains(shown, peak, bandwidth);
    const x = logScale(xDomain, [area.left, area.right]), y = logScale(yDomain, [area.bottom, area.top]);
    drawAxes(ctx, x, y, area, {xTitle, yTitle, yUnit});
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
    ctx.clip();
    drawRoof(ctx, x, y, peak, bandwidth);
    placed = shown.map((p) => ({point: p, x: x(p.x), y: y(p.y), r: 4 + 14 * Math.sqrt(p.size / most)}));
    for (const mark of placed) {
      ctx.fillStyle = runColor(groups.indexOf(mark.point.group));
      ctx.globalAlpha = 0.7;
      ctx.beginPath();
      ctx.arc(mark.x, mark.y, mark.r, 0, 2 * Math.PI);
      ctx.fill();
    }
    ctx.restore();
  };
  canvas.addEventListener('pointermove', (event) => {
    const at = canvas.getBoundingClientRect(), px = event.clientX - at.left, py = event.clientY - at.top;
    const hits = placed.filter((m) => Math.hypot(m.x - px, m.y - py) <= m.r).sort((a, b) => a.r - b.r);
    select(hits[0]?.point ?? null);
  });
  new ResizeObserver(draw).observe(box);
  return el('div', {}, box, legend(groups.map((group, i) => [group, runColor(i)])));
}
