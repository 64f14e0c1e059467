// A timeline on a canvas: tracks of nested events; pan, zoom, search, select.
import {context, cssColor, el, replace} from './dom.js';
import {count, num} from './format.js';
import {axisTicks, linearScale} from './scale.js';

const kRow = 16, kTrackGap = 6, kLeft = 190, kTop = 24;
const kColors = ['#4c8bf5', '#12a07b', '#e08a1e', '#c2489b', '#7f6bd9', '#2a9fb8', '#b8862b', '#d2554a', '#6f9b2f', '#5b77c9'];

// Returns microseconds as text.
export function microseconds(us) {
  const size = Math.abs(us);
  if (size >= 1e6) return `${num(us / 1e6, 4)} s`;
  if (size >= 1e3) return `${num(us / 1e3, 4)} ms`;
  return size >= 1 || us === 0 ? `${num(us, 4)} µs` : `${num(us * 1e3, 4)} ns`;
}

// Columns of the answer of /api/profile_trace as typed arrays, with the range of each track.
export function prepareTrace(answer) {
  const trace = {names: answer.names, tracks: answer.tracks, args: answer.args, cut: answer.cut, events: answer.events,
    track: Uint32Array.from(answer.track), name: Uint32Array.from(answer.name), begin: Float64Array.from(answer.begin),
    duration: Float64Array.from(answer.duration), depth: Uint8Array.from(answer.depth)};
  trace.ranges = answer.tracks.map(() => [0, 0]);
  trace.depths = answer.tracks.map(() => 1);
  for (let i = 0; i < trace.events; ++i) {
    const range = trace.ranges[trace.track[i]];
    if (range[1] === 0) range[0] = i;
    range[1] = i + 1;
    trace.depths[trace.track[i]] = Math.max(trace.depths[trace.track[i]], trace.depth[i] + 1);
  }
  // Rows: the events of one depth of one track, sorted by begin; they do not overlap.
  trace.rows = answer.tracks.map((_, t) => {
    const rows = Array.from({length: trace.depths[t]}, () => []);
    for (let i = trace.ranges[t][0]; i < trace.ranges[t][1]; ++i) rows[trace.depth[i]].push(i);
    return rows.map((r) => Uint32Array.from(r));
  });
  let first = Infinity, last = -Infinity;
  for (let i = 0; i < trace.events; ++i) {
    first = Math.min(first, trace.begin[i]);
    last = Math.max(last, trace.begin[i] + trace.duration[i]);
  }
  trace.first = Number.isFinite(first) ? first : 0;
  trace.last = last > first ? last : trace.first + 1;
  return trace;
}

export class TraceView {
  constructor(trace) {
    this.trace = trace;
    this.range = [trace.first, trace.last];
    this.top = 0;  // pixels that are scrolled away
    this.selected = -1;
    this.hits = null;
    this.closed = new Set();
    this.canvas = el('canvas', {tabIndex: 0, role: 'img', 'aria-label': `Timeline of ${trace.events} events. W and S zoom, A and D move.`});
    this.box = el('div.trace', {}, this.canvas);
    this.search = el('input', {type: 'search', id: 'tag-filter', placeholder: 'Search events', 'aria-label': 'Search events', spellcheck: false, oninput: () => this.find(this.search.value)});
    this.note = el('span.note', {role: 'status'}, `${count(trace.events)} events${trace.cut ? `, ${count(trace.cut)} left out` : ''}`);
    this.details = el('div.trace-details', {'aria-live': 'polite'}, el('p.note', {}, 'Wheel or W and S zoom, drag or A and D move, a click selects, F shows the selection, 0 shows all.'));
    this.root = el('div', {}, el('div.toolbar', {}, this.search, el('button.small', {onclick: () => this.next()}, 'Next'), el('button.small', {onclick: () => this.zoomTo([trace.first, trace.last])}, 'Show all'), this.note), this.box, this.details);
    this.observer = new ResizeObserver(() => this.request());
    this.observer.observe(this.box);
    this.onTheme = () => this.request();
    document.addEventListener('theme', this.onTheme);
    this.listen();
  }

  close() { this.observer.disconnect(); document.removeEventListener('theme', this.onTheme); }

  request() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => { this.pending = 0; this.draw(); });
  }

  // Returns [{track, y, height, process}] from the top, before scrolling.
  layout() {
    let y = 0, process = null;
    const places = this.trace.tracks.map(([name], track) => {
      if (name !== process) { y += 20; process = name; }
      const height = this.closed.has(track) ? kRow : this.trace.depths[track] * kRow;
      const place = {track, y, height, process: name};
      y += height + kTrackGap;
      return place;
    });
    this.height = y;
    return places;
  }

  draw() {
    const width = this.box.clientWidth, height = this.box.clientHeight;
    if (!width || !height) return;
    const ctx = context(this.canvas, width, height);
    this.places = this.layout();
    this.top = Math.max(0, Math.min(this.top, this.height - (height - kTop)));
    const x = linearScale(this.range, [kLeft, width - 4]);
    this.x = x;
    ctx.font = '11px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    let process = null, drawn = 0;
    for (const place of this.places) {
      const y = place.y - this.top + kTop;
      if (place.process !== process) {
        process = place.process;
        if (y > 0 && y - 12 < height) { ctx.fillStyle = cssColor('--text'); ctx.font = '600 11px system-ui, sans-serif'; ctx.fillText(fit(ctx, process, kLeft - 14), 6, y - 10); ctx.font = '11px system-ui, sans-serif'; }
      }
      if (y + place.height < kTop || y > height) continue;
      ctx.fillStyle = cssColor('--dim');
      ctx.fillText(fit(ctx, `${this.closed.has(place.track) ? '▸' : '▾'} ${this.trace.tracks[place.track][1]}`, kLeft - 18), 12, y + 8);
      ctx.save();
      ctx.beginPath();
      ctx.rect(kLeft, kTop, width - kLeft, height - kTop);
      ctx.clip();
      const rows = this.trace.rows[place.track];
      for (let depth = 0; depth < (this.closed.has(place.track) ? 1 : rows.length); ++depth) {
        const py = y + depth * kRow;
        if (py + kRow >= kTop && py <= height) drawn += this.drawRow(ctx, rows[depth], py, x, width);
      }
      ctx.restore();
    }
    this.drawRuler(ctx, x, width, height);
    this.box.dataset.drawn = drawn;
  }

  // Draws the events of a row; those narrower than a pixel are merged.
  drawRow(ctx, row, y, x, width) {
    const {begin, duration, name, names} = this.trace;
    const k = (width - 4 - kLeft) / (this.range[1] - this.range[0]), from = this.range[0];
    let i = lowerBound(row, begin, duration, from), merged = -1, drawn = 0;
    for (; i < row.length; ++i) {
      const e = row[i];
      if (begin[e] > this.range[1]) break;
      let x0 = kLeft + (begin[e] - from) * k, w = duration[e] * k;
      if (w < 1) {
        if (x0 < merged) continue;
        w = 1;
        merged = x0 + 1;
      }
      if (x0 < kLeft) { w -= kLeft - x0; x0 = kLeft; }
      w = Math.min(w, width - x0);
      ctx.globalAlpha = this.hits && !this.hits.has(name[e]) ? 0.18 : 1;
      ctx.fillStyle = kColors[name[e] % kColors.length];
      ctx.fillRect(x0, y, w > 3 ? w - 0.6 : w, kRow - 2);
      ++drawn;
      if (e === this.selected) { ctx.strokeStyle = cssColor('--text'); ctx.lineWidth = 2; ctx.strokeRect(x0, y, Math.max(w, 2), kRow - 2); }
      if (w > 34) { ctx.fillStyle = '#fff'; ctx.fillText(fit(ctx, names[name[e]], w - 8), x0 + 4, y + kRow / 2 - 1); }
    }
    ctx.globalAlpha = 1;
    return drawn;
  }

  drawRuler(ctx, x, width, height) {
    ctx.fillStyle = cssColor('--panel');
    ctx.fillRect(0, 0, width, kTop);
    ctx.fillStyle = cssColor('--dim');
    ctx.strokeStyle = cssColor('--grid');
    ctx.textAlign = 'center';
    const relative = linearScale([this.range[0] - this.trace.first, this.range[1] - this.trace.first], [kLeft, width - 4]);
    for (const tick of axisTicks(relative, false, (width - kLeft) / 110)) {
      ctx.fillText(microseconds(tick), Math.max(relative(tick), kLeft + 20), 11);
      ctx.beginPath();
      ctx.moveTo(relative(tick), kTop - 4);
      ctx.lineTo(relative(tick), height);
      ctx.globalAlpha = 0.5;
      ctx.stroke();
      ctx.globalAlpha = 1;
    }
    ctx.textAlign = 'left';
  }

  // Returns the event at a point, or -1.
  eventAt(px, py) {
    const y = py - kTop + this.top;
    const place = this.places?.find((p) => y >= p.y && y < p.y + p.height);
    if (!place || px < kLeft || py < kTop) return -1;
    const depth = Math.floor((y - place.y) / kRow);
    const row = this.trace.rows[place.track][depth] || [];
    const {begin, duration} = this.trace;
    const slack = (this.range[1] - this.range[0]) / (this.box.clientWidth - kLeft);  // a pixel
    const at = this.x.invert(px);
    for (let i = lowerBound(row, begin, duration, at - slack); i < row.length && begin[row[i]] <= at + slack; ++i) {
      if (begin[row[i]] + duration[row[i]] >= at - slack) return row[i];
    }
    return -1;
  }

  select(e) {
    this.selected = e;
    this.request();
    if (e < 0) return;
    const t = this.trace, same = [];
    let total = 0;
    for (let i = 0; i < t.events; ++i) if (t.name[i] === t.name[e]) { same.push(t.duration[i]); total += t.duration[i]; }
    same.sort((a, b) => a - b);
    const args = Object.entries(t.args[e] || {});
    replace(this.details, el('h3', {}, t.names[t.name[e]]), el('table.data', {data: {event: e}}, el('tbody', {},
      [['Track', t.tracks[t.track[e]].join(' · ')], ['Begin', microseconds(t.begin[e] - t.first)], ['Duration', microseconds(t.duration[e])],
        ['All of this name', `${count(same.length)}, together ${microseconds(total)}, median ${microseconds(same[same.length >> 1])}, longest ${microseconds(same[same.length - 1])}`],
        ...args.map(([k, v]) => [k, typeof v === 'object' ? JSON.stringify(v) : String(v)])].map(([k, v]) => el('tr', {}, el('th', {scope: 'row'}, k), el('td', {}, v))))));
  }

  find(text) {
    const wanted = text.toLowerCase();
    this.hits = wanted ? new Set(this.trace.names.map((n, i) => [n, i]).filter(([n]) => n.toLowerCase().includes(wanted)).map(([, i]) => i)) : null;
    if (this.hits) {
      let found = 0;
      for (let i = 0; i < this.trace.events; ++i) if (this.hits.has(this.trace.name[i])) ++found;
      this.note.textContent = `${count(found)} found`;
    }
    this.request();
  }

  // Selects the next event that the search finds, by begin.
  next() {
    if (!this.hits) return;
    const t = this.trace, after = this.selected < 0 ? -Infinity : t.begin[this.selected];
    let best = -1, first = -1;
    for (let i = 0; i < t.events; ++i) if (this.hits.has(t.name[i])) {
      if (first < 0 || t.begin[i] < t.begin[first]) first = i;
      if (t.begin[i] > after && (best < 0 || t.begin[i] < t.begin[best])) best = i;
    }
    this.show(best < 0 ? first : best);
  }

  show(e) {
    if (e < 0) return;
    this.select(e);
    const t = this.trace, span = Math.max(t.duration[e] * 8, (this.range[1] - this.range[0]) / 50, 1e-3), middle = t.begin[e] + t.duration[e] / 2;
    this.zoomTo([middle - span / 2, middle + span / 2]);
    const place = this.layout()[t.track[e]];
    this.top = place.y + t.depth[e] * kRow - this.box.clientHeight / 2;
  }

  zoomTo(range) { this.range = range; this.request(); }

  scale(factor, px) {
    const at = this.x.invert(px);
    const [a, b] = this.range, span = Math.min(Math.max((b - a) * factor, 1e-4), (this.trace.last - this.trace.first) * 1.5);
    const share = (at - a) / (b - a);
    this.zoomTo([at - share * span, at + (1 - share) * span]);
  }

  move(pixels) {
    const by = pixels * (this.range[1] - this.range[0]) / (this.box.clientWidth - kLeft);
    this.zoomTo([this.range[0] + by, this.range[1] + by]);
  }

  listen() {
    const c = this.canvas;
    let drag = null;
    c.addEventListener('wheel', (event) => {
      event.preventDefault();
      if (event.shiftKey) this.move(event.deltaY || event.deltaX);
      else if (event.offsetX < kLeft) { this.top += event.deltaY; this.request(); } else this.scale(Math.exp(Math.sign(event.deltaY) * 0.2), event.offsetX);
    }, {passive: false});
    c.addEventListener('pointerdown', (event) => { c.setPointerCapture(event.pointerId); drag = {x: event.clientX, y: event.clientY, moved: false}; });
    c.addEventListener('pointermove', (event) => {
      if (!drag) return;
      const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
      if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
      Object.assign(drag, {x: event.clientX, y: event.clientY, moved: true});
      this.top -= dy;
      this.move(-dx);
    });
    c.addEventListener('pointerup', (event) => {
      if (drag && !drag.moved) this.click(event.offsetX, event.offsetY);
      drag = null;
    });
    c.addEventListener('keydown', (event) => {
      const middle = (kLeft + this.box.clientWidth) / 2, step = this.box.clientWidth / 8;
      const actions = {w: () => this.scale(0.7, middle), s: () => this.scale(1 / 0.7, middle), a: () => this.move(-step), d: () => this.move(step),
        ArrowLeft: () => this.move(-step), ArrowRight: () => this.move(step), ArrowUp: () => { this.top -= 60; this.request(); }, ArrowDown: () => { this.top += 60; this.request(); },
        f: () => this.show(this.selected), 0: () => this.zoomTo([this.trace.first, this.trace.last])};
      if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      actions[event.key]();
    });
  }

  click(px, py) {
    if (px < kLeft) {
      const y = py - kTop + this.top, place = this.places.find((p) => y >= p.y && y < p.y + p.height);
      if (place && !this.closed.delete(place.track)) this.closed.add(place.track);
      this.request();
    } else {
      this.select(this.eventAt(px, py));
    }
  }
}

// The first event of a row that ends at or after a time.
function lowerBound(row, begin, duration, time) {
  let low = 0, high = row.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (begin[row[mid]] + duration[row[mid]] < time) low = mid + 1; else high = mid;
  }
  return low;
}

const widths = new Map();
function fit(ctx, text, width) {
  let w = widths.get(text);
  if (w === undefined) { w = ctx.measureText(text).width; widths.set(text, w); }
  if (w <= width) return text;
  const letters = Math.floor(text.length * width / w) - 1;
  return letters > 1 ? `${text.slice(0, letters)}…` : '';
}
