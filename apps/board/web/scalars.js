// The page of scalar curves.
import {postJson, query} from './api.js';
import {LineChart} from './chart.js';
import {debounce, download, el, fileName, replace} from './dom.js';
import {compileFilter, count, num, runColor, toNumber} from './format.js';
import {kMaxDrawnRuns, model} from './model.js';
import {state} from './state.js';
import {chartSvg} from './svg.js';

const kGroupStep = 24;   // cards that a group shows at first, and with each "more"
const kMaxGroups = 400;
const kOpenTags = 400;   // with more tags, only the first groups start open
const kOpenCards = 120;  // cards of those

const numbers = (list) => Float64Array.from(list, toNumber);

export function groupOf(tag) {
  const slash = tag.indexOf('/');
  return slash < 0 ? '' : tag.slice(0, slash);
}

// Turns an answer of /api/scalars into series of a chart.
export function seriesOf(answer, x, smoothing) {
  return answer.series.map((s) => {
    const run = model.runs[s.run];
    const xs = numbers(s.x);
    return {
      id: s.run, name: run?.name ?? `run ${s.run}`, color: runColor(s.run), start: run ? toNumber(run.start) : undefined,
      x: xs, y: numbers(s.y), smooth: smoothing > 0 && s.smooth ? numbers(s.smooth) : null,
      step: x === 'step' ? xs : numbers(s.step), wall: x === 'wall' ? xs : numbers(s.wall),
      segments: s.segments, total: s.total, kept: s.kept, all: s.all, last: toNumber(s.last), lastStep: s.last_step,
    };
  });
}

export function xAxis() {
  const x = state.get('x');
  return x === 'epoch' ? 'tag:epoch' : x;
}

// A card with the chart of one tag.
class Card {
  constructor(tag, page) {
    this.tag = tag.name;
    this.ranges = tag.ranges;
    this.page = page;
    this.series = [];
    this.visible = false;
    this.stale = true;
    this.chart = new LineChart({label: this.tag, onZoom: (zoom) => this.onZoom(zoom)});
    this.title = el('h3', {title: this.tag}, groupOf(this.tag) ? this.tag.slice(groupOf(this.tag).length + 1) : this.tag);
    this.note = el('span.note');
    this.values = el('div.values');
    this.root = el('article.card', {data: {tag: this.tag}, 'aria-label': this.tag},
      el('header', {}, this.title, this.note, this.buttons()), this.chart.root, this.values);
    this.refetch = debounce(() => this.load(), 120);
  }

  buttons() {
    const button = (text, title, action) => el('button.small', {title, 'aria-label': `${title}: ${this.tag}`, onclick: action}, text);
    return el('div.buttons', {},
      button('⤢', 'Large or small', () => this.page.enlarge(this)),
      button('⟲', 'Show all (double-click)', () => this.chart.zoomTo(null)),
      button('CSV', 'All points as CSV', () => this.saveCsv()),
      button('SVG', 'This picture as SVG', () => download(`${fileName(this.tag)}.svg`, 'image/svg+xml', chartSvg(this.chart, this.tag))));
  }

  saveCsv() {
    const runs = this.runs().map((run) => run.id).join(',');
    el('a', {href: `api/scalars.csv?${query({tag: this.tag, runs})}`, download: `${fileName(this.tag)}.csv`}).click();
  }

  onZoom(zoom) {
    if (this.page.large === this) state.set({zoom: zoom ? JSON.stringify([zoom.x, zoom.y]) : ''}, {silent: true});
    this.refetch();
  }

  runs() { return model.withTag(model.shownRuns(), this.ranges).slice(0, kMaxDrawnRuns); }

  // Asks for the points of the visible range and half of it on each side, so that panning shows them at once.
  async load() {
    if (!this.visible) { this.stale = true; return; }
    this.stale = false;
    this.abort?.abort();
    this.abort = new AbortController();
    const x = xAxis(), smoothing = state.number('smooth');
    const request = {tag: this.tag, runs: this.runs().map((run) => run.id), x, smoothing, log_x: state.flag('logx'),
      points: Math.max(100, Math.round(this.chart.root.clientWidth || 400))};
    const zoom = this.chart.zoom;
    if (zoom) {
      const half = (zoom.x[1] - zoom.x[0]) / 2;
      Object.assign(request, {from: zoom.x[0] - half, to: zoom.x[1] + half, points: 2 * request.points});
    }
    try {
      const answer = await postJson('api/scalars', request, this.abort.signal);
      this.series = seriesOf(answer, x, smoothing);
      this.failed = '';
    } catch (error) {
      if (error.name === 'AbortError') return;
      this.failed = error.message;
    }
    this.draw();
  }

  draw() {
    const x = state.get('x');
    this.chart.set({xKind: x === 'relative' || x === 'wall' || x === 'step' ? x : 'value', logX: state.flag('logx'),
      logY: state.flag('logy'), outliers: state.flag('outliers'), height: this.page.large === this ? 460 : 220});
    this.chart.setSeries(this.series);
    const restarts = this.series.filter((s) => s.segments.length > 1).length;
    const notes = [];
    if (this.failed) notes.push(this.failed);
    if (restarts) notes.push(`${restarts === 1 ? 'restart' : 'restarts'} dashed`);
    if (this.series.some((s) => s.kept < s.total)) notes.push('extremes kept');
    this.note.textContent = notes.join(' · ');
    this.note.classList.toggle('warn', Boolean(this.failed));
    const rows = this.series.slice(0, this.page.large === this ? 60 : 4);
    replace(this.values, el('table', {}, el('tbody', {}, rows.map((s) => el('tr', {data: {run: s.name, last: s.last, step: s.lastStep, total: s.total}},
      el('td', {title: s.name}, el('i.swatch', {style: {background: s.color}}), s.name),
      el('td.number', {title: String(s.last)}, num(s.last, 6)),
      el('td.number.dim', {}, `step ${num(s.lastStep, 9)}`))))),
    this.series.length > rows.length && el('button.link', {onclick: () => this.page.enlarge(this), disabled: this.page.large === this}, `and ${this.series.length - rows.length} more`),
    !this.series.length && !this.failed && el('p.note', {}, this.runs().length ? 'No points on this axis.' : 'No run is selected.'));
  }

  close() { this.abort?.abort(); this.chart.close(); }
}

function settings(root) {
  const smooth = el('input', {type: 'range', id: 'smooth', min: 0, max: 0.999, step: 0.001, value: state.get('smooth')});
  const smoothText = el('input', {type: 'number', min: 0, max: 0.999, step: 0.01, value: state.get('smooth'), 'aria-label': 'Smoothing'});
  const setSmooth = debounce((v) => state.set({smooth: String(Math.min(Math.max(Number(v) || 0, 0), 0.999))}), 60);
  smooth.addEventListener('input', () => { smoothText.value = smooth.value; setSmooth(smooth.value); });
  smoothText.addEventListener('change', () => { smooth.value = smoothText.value; setSmooth(smoothText.value); });
  const x = el('select', {id: 'x-axis', onchange: () => state.set({x: x.value, zoom: ''})});
  const xOptions = () => {
    const options = [['step', 'Step'], ['relative', 'Time since the start'], ['wall', 'Time of day']];
    if (model.tags('scalars').some((t) => t.name === 'epoch')) options.push(['epoch', 'Epoch']);
    const now = state.get('x');
    if (now.startsWith('tag:')) options.push([now, now.slice(4)]);
    for (const {name} of model.tags('scalars').slice(0, 200)) if (name !== 'epoch' && `tag:${name}` !== now) options.push([`tag:${name}`, name]);
    const text = JSON.stringify(options) + now;
    if (x.dataset.text === text) return;
    x.dataset.text = text;
    replace(x, options.slice(0, 4).map(([value, title]) => el('option', {value, selected: value === now}, title)),
      options.length > 4 && el('optgroup', {label: 'Another scalar'}, options.slice(4).map(([value, title]) => el('option', {value, selected: value === now}, title))));
    x.value = now;
  };
  const check = (name, title) => el('label.check', {}, el('input', {type: 'checkbox', id: name, checked: state.flag(name),
    onchange: (event) => state.set({[name]: event.target.checked})}), title);
  replace(root, el('h2', {}, 'Curves'),
    el('label', {htmlFor: 'smooth'}, 'Smoothing'), el('div.row', {}, smooth, smoothText),
    el('label', {htmlFor: 'x-axis'}, 'Horizontal axis'), x,
    el('div.checks', {}, check('logx', 'Log x'), check('logy', 'Log y'), check('outliers', 'Ignore outliers')));
  return () => {
    xOptions();
    if (document.activeElement !== smoothText) smooth.value = smoothText.value = state.get('smooth');
    for (const name of ['logx', 'logy', 'outliers']) root.querySelector(`#${name}`).checked = state.flag(name);
  };
}

class ScalarsPage {
  constructor(root, settingsRoot) {
    this.root = root;
    this.cards = new Map();   // by tag
    this.groups = new Map();  // by name: {open, shown}
    this.large = null;
    this.updateSettings = settings(settingsRoot);
    this.filter = el('input', {type: 'search', id: 'tag-filter', placeholder: 'Filter tags (regular expression)', spellcheck: false,
      value: state.get('tags'), 'aria-label': 'Filter tags by a regular expression', title: 'Press / to type here',
      oninput: debounce(() => state.set({tags: this.filter.value}), 150)});
    this.note = el('span.note', {role: 'status'});
    this.list = el('div', {id: 'cards'});
    replace(root, el('div.toolbar', {}, this.filter, this.note), this.list);
    this.seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const card = this.cards.get(entry.target.dataset.tag);
        if (!card) continue;
        card.visible = entry.isIntersecting;
        if (card.visible && card.stale) card.load();
      }
    }, {rootMargin: '300px'});
  }

  close() {
    this.seen.disconnect();
    for (const card of this.cards.values()) card.close();
  }

  update() {
    this.updateSettings();
    if (document.activeElement !== this.filter) this.filter.value = state.get('tags');
    const filter = compileFilter(state.get('tags'));
    this.filter.classList.toggle('wrong', filter.error !== '');
    const all = model.tags('scalars');
    const tags = all.filter((tag) => filter.test(tag.name));
    this.note.textContent = filter.error || (tags.length === all.length ? `${count(all.length)} ${all.length === 1 ? 'tag' : 'tags'}` : `${count(tags.length)} of ${count(all.length)} tags`);
    const byGroup = new Map();
    for (const tag of tags) {
      const group = groupOf(tag.name);
      if (!byGroup.has(group)) byGroup.set(group, []);
      byGroup.get(group).push(tag);
    }
    const names = [...byGroup.keys()].sort();
    this.openGroups(names, byGroup, tags.length);
    const layout = JSON.stringify([state.get('card'), names.map((n) => [n, byGroup.get(n).map((t) => t.name), this.group(n)])]);
    for (const tag of tags) { const card = this.cards.get(tag.name); if (card) card.ranges = tag.ranges; }
    if (layout !== this.layoutText) {
      this.layoutText = layout;
      this.drawGroups(names, byGroup);
    }
    for (const card of this.cards.values()) card.load();
  }

  group(name) {
    if (!this.groups.has(name)) this.groups.set(name, {open: false, shown: kGroupStep, clicked: null});
    return this.groups.get(name);
  }

  // Opens all groups, or the first ones of many tags. What the user opened or closed stays so until the filter changes.
  openGroups(names, byGroup, total) {
    let cards = 0;
    for (const name of names) {
      const group = this.group(name);
      if (group.clicked !== state.get('tags')) group.open = total <= kOpenTags || cards < kOpenCards;
      if (group.open) cards += Math.min(byGroup.get(name).length, group.shown);
    }
  }

  card(tag) {
    let card = this.cards.get(tag.name);
    if (!card) {
      card = new Card(tag, this);
      this.cards.set(tag.name, card);
      this.seen.observe(card.root);
      if (state.get('card') === tag.name) this.setLarge(card);
    }
    return card;
  }

  setLarge(card) {
    this.large = card;
    if (state.get('zoom')) {
      try { const [x, y] = JSON.parse(state.get('zoom')); card.chart.zoom = {x, y}; } catch { /* a damaged link */ }
    }
  }

  drawGroups(names, byGroup) {
    const kept = new Set();
    const sections = names.slice(0, kMaxGroups).map((name) => {
      const group = this.group(name);
      const tags = byGroup.get(name);
      const cards = group.open ? tags.slice(0, group.shown).map((tag) => this.card(tag)) : [];
      cards.forEach((card) => { kept.add(card.tag); card.root.classList.toggle('large', this.large === card); });
      return el('section.group', {},
        el('button.group-title', {'aria-expanded': String(group.open), onclick: () => { group.open = !group.open; group.clicked = state.get('tags'); this.update(); }},
          el('span', {'aria-hidden': 'true'}, group.open ? '▾' : '▸'), name || 'General', el('span.dim', {}, count(tags.length))),
        group.open && el('div.cards', {}, cards.map((card) => card.root)),
        group.open && tags.length > group.shown && el('button.more', {onclick: () => { group.shown += 2 * kGroupStep; this.update(); }},
          `Show more (${count(tags.length - group.shown)} left)`));
    });
    for (const [tag, card] of this.cards) if (!kept.has(tag)) {
      this.seen.unobserve(card.root);
      card.close();
      this.cards.delete(tag);
      if (this.large === card) this.large = null;
    }
    replace(this.list, sections, names.length > kMaxGroups && el('p.note', {}, `${count(names.length - kMaxGroups)} more groups: use the filter.`),
      !names.length && el('p.empty', {}, 'No tag matches the filter.'));
  }

  enlarge(card) {
    this.large = this.large === card ? null : card;
    state.set({card: this.large ? card.tag : '', zoom: this.large && card.chart.zoom ? JSON.stringify([card.chart.zoom.x, card.chart.zoom.y]) : ''});
    for (const other of this.cards.values()) { other.root.classList.toggle('large', other === this.large); other.draw(); }
    card.root.scrollIntoView({block: 'nearest'});
  }
}

export const scalarsPage = {
  id: 'scalars', title: 'Scalars',
  available: (m) => m.hasTags('scalars'),
  open: (root, settingsRoot) => new ScalarsPage(root, settingsRoot),
};
