// The page of hyperparameters: a table to filter and sort, and parallel coordinates.
import {postJson} from './api.js';
import {context, cssColor, debounce, download, el, replace} from './dom.js';
import {compileFilter, count, num, runColor, toNumber} from './format.js';
import {model} from './model.js';
import {state} from './state.js';

const kMetrics = 4;     // metrics at first
const kRows = 1000;
const kAxes = 14;
const kParts = new Set(['train', 'training', 'eval', 'evaluation', 'val', 'validation', 'valid', 'test', 'metrics']);

// Splits the name of a run into the experiment and its part: "a/train" -> ["a", "train"].
export function experimentOf(name) {
  const slash = name.lastIndexOf('/');
  const last = name.slice(slash + 1);
  return slash > 0 && (kParts.has(last) || /^eval_/.test(last)) ? [name.slice(0, slash), last] : [name, ''];
}

const cellValue = (v) => (v !== null && typeof v === 'object' ? v.text : v);

function defaultMetrics() {
  const names = model.tags('scalars').map((t) => t.name);
  const rank = (n) => (/(^|\/)(val_)?loss$/.test(n) ? 0 : /acc/.test(n) ? 1 : /global_step|examples\/sec|input_wait|learning_rate|^epoch$/.test(n) ? 9 : 2);
  return [...names].sort((a, b) => rank(a) - rank(b) || a.length - b.length).filter((n) => rank(n) < 9).slice(0, kMetrics);
}

// Compares as numbers where both are, else as texts; what is missing comes last.
export function compare(a, b) {
  if (a === undefined || a === null) return b === undefined || b === null ? 0 : 1;
  if (b === undefined || b === null) return -1;
  if (typeof a === 'number' && typeof b === 'number') return Number.isNaN(a) ? 1 : Number.isNaN(b) ? -1 : a - b;
  return String(a).localeCompare(String(b), 'en', {numeric: true});
}

// Returns the columns that a name in a filter means: those of this name, else those whose last part it is
// ("learning_rate" of "optimizer.AdamOptimizer.learning_rate"), else those that begin with it.
export function namedColumns(columns, name) {
  for (const fits of [(c) => c.name === name, (c) => c.name.endsWith(`.${name}`), (c) => c.name.startsWith(name)]) {
    const found = columns.filter(fits);
    if (found.length) return found;
  }
  return [];
}

// Returns whether a row passes a condition such as "learning_rate < 0.01" or a regular expression over all cells.
export function rowFilter(text, columns = []) {
  const conditions = text.split(/\s+and\s+|&&/i).map((part) => {
    const m = /^\s*(.+?)\s*(<=|>=|!=|==|=|<|>)\s*(.+?)\s*$/.exec(part);
    if (!m) { const f = compileFilter(part.trim()); return {error: f.error, test: (row) => f.test(row.text)}; }
    const [, name, operator, wanted] = m;
    const number = Number(wanted), meant = namedColumns(columns, name);
    return {error: columns.length && !meant.length ? `no column '${name}'` : '', test: (row) => {
      const values = meant.map((c) => row.cells.get(c.id)).filter((v) => v !== undefined);
      // A text, such as the name of a loss, is not meant by a number.
      const value = Number.isNaN(number) ? values[0] : values.find((v) => typeof v === 'number') ?? values[0];
      if (value === undefined) return false;
      const order = Number.isNaN(number) ? String(value).localeCompare(wanted) : toNumber(value) - number;
      return {'<': order < 0, '>': order > 0, '<=': order <= 0, '>=': order >= 0, '=': order === 0, '==': order === 0, '!=': order !== 0}[operator];
    }};
  });
  return {error: conditions.map((c) => c.error).find(Boolean) || '', test: (row) => conditions.every((c) => c.test(row))};
}

class HparamsPage {
  constructor(root, settingsRoot) {
    this.rows = [];
    this.highlight = '';
    this.filter = el('input', {type: 'search', id: 'tag-filter', value: state.get('q'), spellcheck: false,
      placeholder: 'Filter: learning_rate < 0.01 and adam', 'aria-label': 'Filter rows: conditions joined by "and", or a regular expression',
      oninput: debounce(() => state.set({q: this.filter.value}), 150)});
    this.note = el('span.note', {role: 'status'});
    this.folded = el('button.small', {id: 'folded', onclick: () => state.set({same: !state.flag('same')})});
    this.hidden = el('button.small', {id: 'hidden-columns', title: 'Show all columns', onclick: () => state.set({hide: []})});
    this.canvas = el('canvas', {role: 'img', 'aria-label': 'Parallel coordinates of the rows of the table'});
    this.plot = el('div.plot.card.parallel', {}, this.canvas);
    this.head = el('thead');
    this.body = el('tbody');
    replace(root, el('div.toolbar', {}, this.filter, el('button.small', {onclick: () => this.saveCsv()}, 'CSV'), this.folded, this.hidden, this.note), this.plot,
      el('div.table-box', {}, el('table.data', {id: 'hparams'}, this.head, this.body)));
    this.settings = settingsRoot;
    this.brushes = new Map();
    this.observer = new ResizeObserver(() => this.drawPlot());
    this.observer.observe(this.plot);
    this.onTheme = () => this.drawPlot();
    document.addEventListener('theme', this.onTheme);
    this.listen();
  }

  close() { this.observer.disconnect(); document.removeEventListener('theme', this.onTheme); }

  metrics() { return state.list('cols').length ? state.list('cols') : defaultMetrics(); }

  drawSettings() {
    const chosen = new Set(this.metrics());
    const names = model.tags('scalars').map((t) => t.name).slice(0, 300);
    const text = JSON.stringify([names, [...chosen]]);
    if (text === this.settingsText) return;
    this.settingsText = text;
    replace(this.settings, el('h2', {}, 'Metrics'), el('div.metric-list', {}, names.map((name) => el('label.check', {title: name},
      el('input', {type: 'checkbox', checked: chosen.has(name), onchange: (event) => {
        const next = this.metrics().filter((n) => n !== name);
        state.set({cols: event.target.checked ? [...next, name].slice(-50) : next});
      }}), el('span', {}, name)))));
  }

  async update() {
    this.drawSettings();
    if (document.activeElement !== this.filter) this.filter.value = state.get('q');
    const metrics = this.metrics();
    const request = JSON.stringify([metrics, model.index.generation]);
    if (request !== this.request) {
      this.request = request;
      try {
        this.answer = await postJson('api/hparams', {tags: metrics});
      } catch (error) { this.note.textContent = error.message; return; }
    }
    this.makeRows();
    this.draw();
  }

  // One row an experiment: the parts share hyperparameters, and each brings its metrics. A column is {id, name, kind}: a
  // hyperparameter and a metric may have one name.
  makeRows() {
    const shown = new Set(model.shownRuns().map((run) => run.id));
    const rows = new Map(), columns = new Map();
    const add = (row, kind, name, value) => {
      const id = `${kind}:${name}`;
      row.cells.set(id, value);
      if (!columns.has(id)) columns.set(id, {id, name, kind});
      return id;
    };
    for (const {run: number, hparams: values, metrics: results} of this.answer?.rows || []) {
      const run = model.runs[number];
      if (!run || !shown.has(number)) continue;
      const [name, part] = experimentOf(run.name);
      if (!rows.has(name)) rows.set(name, {name, id: number, cells: new Map(), exact: new Map()});
      const row = rows.get(name);
      for (const [key, value] of Object.entries(values)) add(row, 'hparam', key, cellValue(value));
      for (const [tag, result] of Object.entries(results)) {
        const id = add(row, 'metric', part ? `${tag} (${part})` : tag, toNumber(result.last));
        row.exact.set(id, `least ${num(result.min)}, greatest ${num(result.max)}, at step ${result.step}`);
      }
    }
    this.allRows = [...rows.values()];
    this.columns = [...columns.values()].sort((a, b) => a.name.localeCompare(b.name));
    for (const column of this.columns) column.same = column.kind === 'hparam' && this.isSame(column);
    for (const row of this.allRows) row.text = [row.name, ...this.columns.filter((c) => row.cells.has(c.id)).map((c) => `${c.name}=${row.cells.get(c.id)}`)].join(' ');
  }

  // Whether all experiments have one value of it.
  isSame(column) {
    if (this.allRows.length < 2) return false;
    const first = this.allRows[0].cells.get(column.id);
    return first !== undefined && this.allRows.every((row) => row.cells.get(column.id) === first);
  }

  // The columns of the table: pinned ones, metrics, then hyperparameters.
  shownColumns() {
    const hidden = new Set(state.list('hide')), pinned = state.list('pin');
    const rank = (c) => (pinned.includes(c.id) ? pinned.indexOf(c.id) - pinned.length : c.kind === 'metric' ? 0 : 1);
    return this.columns.filter((c) => !hidden.has(c.id) && (!c.same || state.flag('same') || pinned.includes(c.id)))
      .sort((a, b) => rank(a) - rank(b));
  }

  draw() {
    const filter = rowFilter(state.get('q'), this.columns);
    this.filter.classList.toggle('wrong', filter.error !== '');
    this.rows = this.allRows.filter((row) => filter.test(row) && this.inBrushes(row));
    const [key, down] = [state.get('sort').replace(/^-/, ''), state.get('sort').startsWith('-')];
    if (key) this.rows.sort((a, b) => {
      const va = key === 'run' ? a.name : a.cells.get(key), vb = key === 'run' ? b.name : b.cells.get(key);
      const missing = (va === undefined) !== (vb === undefined);
      return down && !missing ? compare(vb, va) : compare(va, vb);
    });
    this.note.textContent = filter.error || `${count(this.rows.length)} of ${count(this.allRows.length)} experiments`;
    const same = this.columns.filter((c) => c.same).length, hidden = this.columns.filter((c) => state.list('hide').includes(c.id)).length;
    this.folded.hidden = same === 0;
    this.folded.textContent = state.flag('same') ? `Fold ${same} equal columns` : `Show ${same} equal columns`;
    this.folded.title = 'Hyperparameters that have one value in all experiments';
    this.hidden.hidden = hidden === 0;
    this.hidden.textContent = `Show ${hidden} hidden`;
    this.drawTable(key, down);
    this.drawPlot();
  }

  drawTable(key, down) {
    const pinned = state.list('pin');
    const sort = (id) => state.set({sort: key === id && !down ? `-${id}` : id});
    const numeric = (id) => this.rows.some((r) => typeof r.cells.get(id) === 'number');
    // Of a long name the end tells most.
    const short = (name) => (name.length > 30 ? `…${name.slice(-29)}` : name);
    const header = (id, title, kind, ...buttons) => el(`th.${kind}${numeric(id) ? '.number' : ''}`, {scope: 'col', title, 'aria-sort': key === id ? (down ? 'descending' : 'ascending') : null, data: {column: id}},
      el('button', {onclick: () => sort(id)}, short(title), key === id ? (down ? ' ↓' : ' ↑') : ''), buttons);
    const column = (c) => header(c.id, c.name, c.kind,
      el('button.small', {title: 'Pin: to the front', 'aria-label': `Pin ${c.name}`, 'aria-pressed': String(pinned.includes(c.id)),
        onclick: () => state.set({pin: pinned.includes(c.id) ? pinned.filter((id) => id !== c.id) : [...pinned, c.id]})}, '⇤'),
      el('button.small', {title: 'Hide this column', 'aria-label': `Hide ${c.name}`, onclick: () => state.set({hide: [...state.list('hide'), c.id]})}, '×'));
    const columns = this.shownColumns();
    replace(this.head, el('tr', {}, header('run', 'Experiment', 'name'), columns.map(column)));
    const lower = (c) => /loss|error|time/.test(c.name);
    const best = new Map(columns.filter((c) => c.kind === 'metric').map((c) => [c.id, this.rows.map((r) => r.cells.get(c.id)).filter(Number.isFinite)
      .reduce((a, b) => (lower(c) ? Math.min(a, b) : Math.max(a, b)), lower(c) ? Infinity : -Infinity)]));
    const cell = (row, c) => {
      const v = row.cells.get(c.id);
      const text = v === undefined ? '' : typeof v === 'number' ? num(v, 5) : String(v);
      return el(typeof v === 'number' ? 'td.number' : 'td', {title: row.exact.get(c.id) || null}, v !== undefined && v === best.get(c.id) ? el('b', {}, text) : text);
    };
    replace(this.body, this.rows.slice(0, kRows).map((row) => el('tr', {data: {run: row.name}, onpointerenter: () => { this.highlight = row.name; this.drawPlot(); },
      onpointerleave: () => { this.highlight = ''; this.drawPlot(); }},
    el('th', {scope: 'row', title: row.name}, el('i.swatch', {style: {background: runColor(row.id)}}), row.name),
    columns.map((c) => cell(row, c)))));
  }

  // -- Parallel coordinates

  // Columns that differ and that most experiments have: one foreign run would make all axes empty.
  axes() {
    const hidden = new Set(state.list('hide'));
    const differs = (c) => new Set(this.allRows.map((r) => r.cells.get(c.id))).size > 1;
    const filled = (c) => this.allRows.filter((r) => r.cells.has(c.id)).length;
    const all = this.columns.filter((c) => !hidden.has(c.id) && (c.kind === 'metric' || differs(c)));
    const most = Math.max(...all.map(filled), 0);
    const usual = all.filter((c) => 2 * filled(c) >= most);
    const columns = [...usual.filter((c) => c.kind === 'hparam'), ...usual.filter((c) => c.kind === 'metric')].slice(-kAxes);
    return columns.map(({id, name}) => {
      const values = this.allRows.map((r) => r.cells.get(id)).filter((v) => v !== undefined);
      const numeric = values.length > 0 && values.every((v) => typeof v === 'number');
      if (!numeric) return {id, name, texts: [...new Set(values.map(String))].sort()};
      const finite = values.filter(Number.isFinite);
      const low = Math.min(...finite), high = Math.max(...finite);
      return {id, name, low, high, log: low > 0 && high / low >= 30};
    });
  }

  position(axis, value) {  // 0 at the bottom, 1 at the top
    if (value === undefined) return NaN;
    if (axis.texts) return axis.texts.length < 2 ? 0.5 : axis.texts.indexOf(String(value)) / (axis.texts.length - 1);
    if (axis.low === axis.high) return 0.5;
    return axis.log ? Math.log(value / axis.low) / Math.log(axis.high / axis.low) : (value - axis.low) / (axis.high - axis.low);
  }

  inBrushes(row) {
    if (!this.brushes.size) return true;
    return this.axes().every((axis) => {
      const brush = this.brushes.get(axis.id);
      const p = this.position(axis, row.cells.get(axis.id));
      return !brush || (p >= brush[0] && p <= brush[1]);
    });
  }

  drawPlot() {
    if (!this.columns || !this.plot.clientWidth) return;
    const axes = this.axes();
    this.plot.hidden = axes.length < 2 || this.allRows.length < 2;
    if (this.plot.hidden) return;
    const width = this.plot.clientWidth - 24, height = 240, top = 40, bottom = height - 22;
    const ctx = context(this.canvas, width, height);
    const left = 60, right = width - 60;
    this.geometry = {axes, top, bottom, x: (i) => left + (right - left) * i / (axes.length - 1)};
    const {x} = this.geometry;
    const y = (p) => bottom - p * (bottom - top);
    const drawn = new Set(this.rows.map((r) => r.name));
    for (const pass of ['other', 'shown', 'highlight']) for (const row of this.allRows) {
      const kind = row.name === this.highlight ? 'highlight' : drawn.has(row.name) ? 'shown' : 'other';
      if (kind !== pass) continue;
      ctx.strokeStyle = kind === 'other' ? cssColor('--line') : runColor(row.id);
      ctx.lineWidth = kind === 'highlight' ? 3 : 1.5;
      ctx.globalAlpha = kind === 'shown' && this.highlight ? 0.3 : 1;
      ctx.beginPath();
      let pen = false;
      axes.forEach((axis, i) => {
        const p = this.position(axis, row.cells.get(axis.id));
        if (!Number.isFinite(p)) { pen = false; return; }
        if (pen) { const mid = (x(i - 1) + x(i)) / 2; ctx.bezierCurveTo(mid, this.lastY, mid, y(p), x(i), y(p)); } else ctx.moveTo(x(i), y(p));
        this.lastY = y(p);
        pen = true;
      });
      ctx.stroke();
    }
    ctx.globalAlpha = 1;
    ctx.font = '11px system-ui, sans-serif';
    axes.forEach((axis, i) => this.drawAxis(ctx, axis, x(i), y, (right - left) / (axes.length - 1)));
  }

  drawAxis(ctx, axis, px, y, space) {
    ctx.strokeStyle = cssColor('--axis');
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(px, y(0));
    ctx.lineTo(px, y(1));
    ctx.stroke();
    const brush = this.brushes.get(axis.id);
    if (brush) { ctx.fillStyle = cssColor('--select'); ctx.fillRect(px - 9, y(brush[1]), 18, y(brush[0]) - y(brush[1])); }
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    ctx.fillStyle = cssColor('--text');
    ctx.fillText(shortenName(ctx, axis.name, Math.min(space - 6, 112)), px, 12);
    ctx.fillStyle = cssColor('--dim');
    const ends = axis.texts ? [axis.texts[0], axis.texts[axis.texts.length - 1]] : [num(axis.low, 3), num(axis.high, 3)];
    ctx.fillText(shorten(ctx, String(ends[0]), space - 6), px, y(0) + 12);
    if (ends[1] !== ends[0]) ctx.fillText(shorten(ctx, String(ends[1]), space - 6), px, y(1) - 11);
    if (axis.texts) {
      ctx.textAlign = 'left';
      axis.texts.slice(1, -1).forEach((t, k) => ctx.fillText(shorten(ctx, t, space / 2), px + 5, y((k + 1) / (axis.texts.length - 1))));
    }
  }

  // Dragging along an axis keeps the rows in that range; a click on it shows all again.
  listen() {
    let drag = null;
    const at = (event) => {
      const {axes, top, bottom, x} = this.geometry;
      const i = axes.reduce((best, _, k) => (Math.abs(x(k) - event.offsetX) < Math.abs(x(best) - event.offsetX) ? k : best), 0);
      return {axis: axes[i], near: Math.abs(x(i) - event.offsetX) < 24, p: Math.min(Math.max((bottom - event.offsetY) / (bottom - top), 0), 1)};
    };
    this.canvas.addEventListener('pointerdown', (event) => {
      const hit = at(event);
      if (!hit.near) return;
      this.canvas.setPointerCapture(event.pointerId);
      drag = {axis: hit.axis, from: hit.p, moved: false};
    });
    this.canvas.addEventListener('pointermove', (event) => {
      if (!drag) { this.canvas.style.cursor = this.geometry && at(event).near ? 'ns-resize' : ''; return; }
      const p = at(event).p;
      drag.moved ||= Math.abs(p - drag.from) > 0.02;
      if (drag.moved) { this.brushes.set(drag.axis.id, [Math.min(p, drag.from), Math.max(p, drag.from)]); this.draw(); }
    });
    this.canvas.addEventListener('pointerup', () => {
      if (drag && !drag.moved) { this.brushes.delete(drag.axis.id); this.draw(); }
      drag = null;
    });
  }

  saveCsv() {
    const quote = (v) => (/[",\n]/.test(v) ? `"${String(v).replace(/"/g, '""')}"` : v);
    const columns = this.shownColumns();
    const lines = [['experiment', ...columns.map((c) => c.name)], ...this.rows.map((r) => [r.name, ...columns.map((c) => r.cells.get(c.id) ?? '')])];
    download('hyperparameters.csv', 'text/csv', lines.map((l) => l.map((v) => quote(String(v))).join(',')).join('\n'));
  }
}

// The end of a long name tells more than its beginning: "…learning_rate".
function shortenName(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  while (text.length > 1 && ctx.measureText(`…${text}`).width > width) text = text.slice(1);
  return `…${text}`;
}

function shorten(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  while (text.length > 1 && ctx.measureText(`${text}…`).width > width) text = text.slice(0, -1);
  return `${text}…`;
}

export const hparamsPage = {
  id: 'hparams', title: 'Compare',
  available: (m) => m.hasTags('scalars'),
  open: (root, settingsRoot) => new HparamsPage(root, settingsRoot),
};
