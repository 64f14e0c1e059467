// A line chart on a canvas: zoom, hover, gaps, restarts, smoothed lines over the raw band.
import {context, cssColor, el, replace} from './dom.js';
import {duration, num, wallTime} from './format.js';
import {axisTicks, linearScale, logScale} from './scale.js';

const kMargin = {left: 58, right: 12, top: 10, bottom: 26};

// A series: {name, color, x, y, smooth|null, step, wall, segments: [[begin, superseded from|null]]}.
// x and y are Float64Arrays of equal length.
export class LineChart {
  constructor(options) {
    // xKind: step, relative, wall or value. xRange, yRange: fixed ends of the axes. onZoom(range|null) is told when the user
    // zooms.
    this.options = {xKind: 'step', logX: false, logY: false, outliers: false, height: 220, onZoom: () => {}, label: '', ...options};
    this.series = [];
    this.zoom = null;      // {x: [from, to], y: [from, to]|null}
    this.hover = null;     // x of the cursor
    this.canvas = el('canvas', {tabIndex: 0, role: 'img', 'aria-label': this.options.label});
    this.tip = el('div.tip', {hidden: true});
    this.root = el('div.plot', {}, this.canvas, this.tip);
    this.listen();
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.root);
    this.onTheme = () => this.draw();
    document.addEventListener('theme', this.onTheme);
  }

  close() {
    this.observer.disconnect();
    document.removeEventListener('theme', this.onTheme);
  }

  set(options) { Object.assign(this.options, options); this.draw(); }
  setSeries(series) { this.series = series; this.draw(); }

  // -- Domains

  visible(i, s) {
    const x = s.x[i];
    return !this.zoom || (x >= this.zoom.x[0] && x <= this.zoom.x[1]);
  }

  xDomain() {
    if (this.zoom) return this.zoom.x;
    if (this.options.xRange) return this.options.xRange;
    let low = Infinity, high = -Infinity;
    for (const s of this.series) for (let i = 0; i < s.x.length; ++i) {
      if (this.options.logX && s.x[i] <= 0) continue;
      if (s.x[i] < low) low = s.x[i];
      if (s.x[i] > high) high = s.x[i];
    }
    if (!(low <= high)) return [0, 1];
    return low === high ? [low - 0.5, high + 0.5] : [low, high];
  }

  yDomain() {
    if (this.zoom?.y) return this.zoom.y;
    if (this.options.yRange && !this.zoom) return this.options.yRange;
    const values = [];
    for (const s of this.series) for (let i = 0; i < s.y.length; ++i) {
      const y = s.y[i];
      if (Number.isFinite(y) && this.visible(i, s) && (!this.options.logY || y > 0)) values.push(y);
    }
    if (!values.length) return this.options.logY ? [0.1, 1] : [0, 1];
    let low = Infinity, high = -Infinity;
    if (this.options.outliers && values.length > 20) {
      values.sort((a, b) => a - b);
      low = values[Math.floor(values.length * 0.02)];
      high = values[Math.ceil(values.length * 0.98) - 1];
    } else {
      for (const y of values) { if (y < low) low = y; if (y > high) high = y; }
    }
    if (this.options.logY) return low === high ? [low / 2, high * 2] : [low / (high / low) ** 0.04, high * (high / low) ** 0.04];
    const pad = low === high ? Math.abs(low) * 0.1 || 0.5 : (high - low) * 0.06;
    return [low - pad, high + pad];
  }

  layout() {
    const width = this.root.clientWidth || 300, height = this.options.height;
    const area = {left: kMargin.left, top: kMargin.top, right: width - kMargin.right, bottom: height - kMargin.bottom};
    const x = (this.options.logX ? logScale : linearScale)(this.xDomain(), [area.left, area.right]);
    const y = (this.options.logY ? logScale : linearScale)(this.yDomain(), [area.bottom, area.top]);
    return {width, height, area, x, y};
  }

  formatX(value) {
    if (this.options.xKind === 'relative') return duration(value);
    if (this.options.xKind === 'wall') return wallTime(value);
    return num(value, 6);
  }

  // -- Drawing

  draw() {
    if (!this.root.isConnected) return;
    const view = this.layout();
    this.view = view;
    const ctx = context(this.canvas, view.width, view.height);
    this.drawAxes(ctx, view);
    ctx.save();
    ctx.beginPath();
    ctx.rect(view.area.left, view.area.top - 2, view.area.right - view.area.left, view.area.bottom - view.area.top + 4);
    ctx.clip();
    for (const s of this.series) this.drawSeries(ctx, view, s);
    ctx.restore();
    this.drawHover(ctx, view);
    if (this.drag) this.drawDrag(ctx, view);
    this.root.dataset.points = this.series.reduce((sum, s) => sum + s.x.length, 0);
  }

  drawAxes(ctx, {area, x, y}) {
    const grid = cssColor('--grid'), text = cssColor('--dim');
    ctx.font = '11px system-ui, sans-serif';
    ctx.lineWidth = 1;
    ctx.fillStyle = text;
    ctx.strokeStyle = grid;
    ctx.textAlign = 'right';
    ctx.textBaseline = 'middle';
    for (const tick of axisTicks(y, this.options.logY, Math.max(3, (area.bottom - area.top) / 42))) {
      const py = Math.round(y(tick)) + 0.5;
      line(ctx, area.left, py, area.right, py);
      ctx.fillText(num(tick, 4), area.left - 6, py);
    }
    ctx.textAlign = 'center';
    ctx.textBaseline = 'top';
    const time = this.options.xKind === 'wall' || this.options.xKind === 'relative';
    for (const tick of axisTicks(x, this.options.logX, Math.max(2, (area.right - area.left) / 72), time ? this.options.xKind : '')) {
      const px = Math.round(x(tick)) + 0.5;
      line(ctx, px, area.top, px, area.bottom);
      ctx.fillText(this.xTickText(tick, x), Math.min(Math.max(px, area.left + 12), area.right - 16), area.bottom + 6);
    }
    ctx.strokeStyle = cssColor('--axis');
    line(ctx, area.left, area.bottom + 0.5, area.right, area.bottom + 0.5);
  }

  xTickText(tick, x) {
    if (this.options.xKind === 'relative') return duration(tick);
    if (this.options.xKind !== 'wall') return num(tick, 6);
    const [low, high] = x.domain;
    const text = wallTime(tick);
    if (high - low > 4 * 86400) return text.slice(5, 10);
    return high - low > 7200 ? text.slice(11, 16) : text.slice(11);
  }

  drawSeries(ctx, view, s) {
    ctx.lineJoin = 'round';
    for (let part = 0; part < s.segments.length; ++part) {
      const [begin, superseded] = s.segments[part];
      const end = part + 1 < s.segments.length ? s.segments[part + 1][0] : s.x.length;
      let cut = end;  // from here on a later part repeats the steps
      if (superseded !== null) for (cut = begin; cut < end && s.step[cut] < superseded; ++cut);
      if (s.smooth) {
        this.path(ctx, view, s, s.y, begin, cut, {alpha: 0.28, width: 1});
        this.path(ctx, view, s, s.smooth, begin, cut, {alpha: 1, width: 1.8});
      } else {
        this.path(ctx, view, s, s.y, begin, cut, {alpha: 1, width: 1.5});
      }
      if (cut < end) this.path(ctx, view, s, s.smooth || s.y, Math.max(begin, cut - 1), end, {alpha: 0.45, width: 1.2, dash: [3, 3]});
      this.drawMarks(ctx, view, s, begin, end);
    }
  }

  path(ctx, {x, y}, s, values, begin, end, {alpha, width, dash = []}) {
    ctx.globalAlpha = alpha;
    ctx.strokeStyle = s.color;
    ctx.lineWidth = width;
    ctx.setLineDash(dash);
    ctx.beginPath();
    let pen = false, drawn = 0;
    for (let i = begin; i < end; ++i) {
      const py = y(values[i]), px = x(s.x[i]);
      if (!Number.isFinite(py) || !Number.isFinite(px)) { pen = false; continue; }
      if (pen) ctx.lineTo(px, py); else ctx.moveTo(px, py);
      pen = true;
      ++drawn;
    }
    ctx.stroke();
    if (drawn === 1) {  // a line of one point is invisible
      const i = values.findIndex((v, k) => k >= begin && k < end && Number.isFinite(y(v)) && Number.isFinite(x(s.x[k])));
      ctx.beginPath();
      ctx.fillStyle = s.color;
      ctx.arc(x(s.x[i]), y(values[i]), 3, 0, 7);
      ctx.fill();
    }
    ctx.setLineDash([]);
    ctx.globalAlpha = 1;
  }

  // A triangle for each value that is not finite, at the height of the last finite one.
  drawMarks(ctx, {area, x, y}, s, begin, end) {
    let height = area.bottom - 6, drawn = 0;
    for (let i = begin; i < end; ++i) {
      if (Number.isFinite(s.y[i])) { const py = y(s.y[i]); if (Number.isFinite(py)) height = py; continue; }
      const px = x(s.x[i]);
      if (!(px >= area.left && px <= area.right) || ++drawn > 500) continue;
      const up = s.y[i] === -Infinity ? 1 : -1;
      ctx.fillStyle = s.color;
      ctx.beginPath();
      ctx.moveTo(px, height + 4 * up);
      ctx.lineTo(px - 4, height - 3 * up);
      ctx.lineTo(px + 4, height - 3 * up);
      ctx.fill();
    }
    this.root.dataset.gaps = Number(begin === 0 ? 0 : this.root.dataset.gaps || 0) + drawn;
  }

  // -- Hover

  nearest(s, x) {
    let best = -1, distance = Infinity;
    for (let i = 0; i < s.x.length; ++i) {
      const d = Math.abs(s.x[i] - x);
      if (d <= distance) { distance = d; best = i; }
    }
    return best;
  }

  drawHover(ctx, {area, x, y, width}) {
    if (this.hover === null || !this.series.length) { this.tip.hidden = true; return; }
    const px = Math.min(Math.max(x(this.hover), area.left), area.right);
    ctx.strokeStyle = cssColor('--dim');
    ctx.setLineDash([2, 3]);
    line(ctx, Math.round(px) + 0.5, area.top, Math.round(px) + 0.5, area.bottom);
    ctx.setLineDash([]);
    const rows = [];
    for (const s of this.series) {
      const i = this.nearest(s, this.hover);
      if (i < 0) continue;
      const value = s.smooth ? s.smooth[i] : s.y[i];
      const py = y(value);
      if (Number.isFinite(py)) {
        ctx.fillStyle = s.color;
        ctx.beginPath();
        ctx.arc(x(s.x[i]), py, 3.5, 0, 7);
        ctx.fill();
      }
      rows.push({s, i, py: Number.isFinite(py) ? py : Infinity});
    }
    rows.sort((a, b) => a.py - b.py);
    this.showTip(rows, px, width);
  }

  showTip(rows, px, width) {
    const smooth = this.series.some((s) => s.smooth);
    const shown = rows.slice(0, 14);
    const start = (s) => (s.start ?? s.wall[0]);
    replace(this.tip, el('table', {},
      el('thead', {}, el('tr', {}, el('th', {}, 'Run'), smooth && el('th', {}, 'Smoothed'), el('th', {}, 'Value'), el('th', {}, 'Step'), el('th', {}, 'Relative'))),
      el('tbody', {}, shown.map(({s, i}) => el('tr', {data: {run: s.name, value: s.y[i], step: s.step[i]}},
        el('td', {}, el('i.swatch', {style: {background: s.color}}), s.name),
        smooth && el('td.number', {}, num(s.smooth ? s.smooth[i] : s.y[i], 5)),
        el('td.number', {title: String(s.y[i])}, num(s.y[i], 6)),
        el('td.number', {}, num(s.step[i], 9)),
        el('td.number', {}, duration(s.wall[i] - start(s))))))),
    rows.length > shown.length && el('p', {}, `and ${rows.length - shown.length} more`));
    if (!rows.length) { this.tip.hidden = true; return; }
    this.tip.hidden = false;
    const box = this.tip.offsetWidth;
    const page = document.documentElement.clientWidth, left = this.root.getBoundingClientRect().left;
    let at = px + 14;
    if (left + at + box > page - 8) at = px - box - 14;
    this.tip.style.left = `${Math.max(at, 8 - left)}px`;
    this.tip.style.top = `${this.options.height - 4}px`;
    this.canvas.setAttribute('aria-label', `${this.options.label}: ${shown.map(({s, i}) => `${s.name} ${num(s.y[i])} at step ${s.step[i]}`).join(', ')}`);
  }

  // -- Input

  drawDrag(ctx, {area}) {
    const {from, to, box} = this.drag;
    const [x0, x1] = [Math.min(from.x, to.x), Math.max(from.x, to.x)];
    const [y0, y1] = box ? [Math.min(from.y, to.y), Math.max(from.y, to.y)] : [area.top, area.bottom];
    ctx.fillStyle = cssColor('--select');
    ctx.fillRect(x0, y0, x1 - x0, y1 - y0);
  }

  at(event) {
    const rect = this.canvas.getBoundingClientRect();
    const {area} = this.view;
    return {x: Math.min(Math.max(event.clientX - rect.left, area.left), area.right),
      y: Math.min(Math.max(event.clientY - rect.top, area.top), area.bottom)};
  }

  zoomTo(zoom) {
    this.zoom = zoom;
    this.draw();
    this.options.onZoom(zoom);
  }

  // Scales the x axis about a pixel, or moves it.
  rescale(factor, about, move = 0) {
    const {x, area} = this.view;
    const from = x.invert(about + (area.left - about) * factor + move);
    const to = x.invert(about + (area.right - about) * factor + move);
    if (!(to > from) || !Number.isFinite(from) || !Number.isFinite(to)) return;
    this.zoomTo({x: [from, to], y: this.zoom?.y || null});
  }

  listen() {
    const c = this.canvas;
    c.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      c.setPointerCapture(event.pointerId);
      const at = this.at(event);
      if (event.shiftKey) this.pan = {at, zoom: [...this.view.x.domain]};
      else this.drag = {from: at, to: at, box: false};
    });
    c.addEventListener('pointermove', (event) => {
      const at = this.at(event);
      if (this.pan) { this.rescale(1, 0, this.pan.at.x - at.x); this.pan.at = at; }
      if (this.drag) { this.drag.to = at; this.drag.box = Math.abs(at.y - this.drag.from.y) > 24; }
      this.hover = this.view.x.invert(at.x);
      this.draw();
    });
    c.addEventListener('pointerup', () => {
      const {drag, view} = this;
      this.drag = this.pan = null;
      if (drag && Math.abs(drag.to.x - drag.from.x) > 4) {
        const xs = [view.x.invert(drag.from.x), view.x.invert(drag.to.x)].sort((a, b) => a - b);
        const ys = [view.y.invert(drag.from.y), view.y.invert(drag.to.y)].sort((a, b) => a - b);
        this.zoomTo({x: xs, y: drag.box ? ys : null});
      } else {
        this.draw();
      }
    });
    c.addEventListener('pointerleave', () => { if (!this.drag) { this.hover = null; this.draw(); } });
    c.addEventListener('blur', () => { this.hover = null; this.draw(); });
    c.addEventListener('dblclick', () => this.zoomTo(null));
    c.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.altKey) return;
      event.preventDefault();
      this.rescale(Math.exp(Math.sign(event.deltaY) * 0.25), this.at(event).x);
    }, {passive: false});
    c.addEventListener('keydown', (event) => this.onKey(event));
  }

  onKey(event) {
    const {x, area} = this.view;
    const middle = this.hover === null ? (area.left + area.right) / 2 : x(this.hover);
    const step = (event.shiftKey ? 40 : 4);
    const actions = {
      ArrowRight: () => { this.hover = x.invert(Math.min(middle + step, area.right)); this.draw(); },
      ArrowLeft: () => { this.hover = x.invert(Math.max(middle - step, area.left)); this.draw(); },
      '+': () => this.rescale(0.6, middle), '=': () => this.rescale(0.6, middle),
      '-': () => this.rescale(1 / 0.6, middle),
      0: () => this.zoomTo(null),
      Escape: () => { this.hover = null; this.draw(); },
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }
}

function line(ctx, x0, y0, x1, y1) {
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
}
