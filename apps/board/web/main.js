// The frame of the page: tabs, the list of runs, settings, problems.
import {append, el, replace, debounce} from './dom.js';
import {bytes, compileFilter, count, num, runColor, setRunColors} from './format.js';
import {kMaxDrawnRuns, model} from './model.js';
import {state} from './state.js';
import {graphPage} from './graph.js';
import {histogramsPage} from './histograms.js';
import {hparamsPage} from './hparams.js';
import {imagesPage} from './images.js';
import {prCurvesPage} from './pr_curves.js';
import {profilePage} from './profile.js';
import {runsPage} from './runs.js';
import {scalarsPage} from './scalars.js';
import {textPage} from './text.js';

const kPages = [scalarsPage, hparamsPage, histogramsPage, imagesPage, textPage, prCurvesPage, graphPage, profilePage, runsPage];

const byId = (id) => document.getElementById(id);
let page = null;

function available() {
  return kPages.filter((p) => p.available(model));
}

function currentTab() {
  const pages = available();
  return pages.find((p) => p.id === state.get('tab')) || pages[0] || null;
}

function drawTabs() {
  const current = currentTab();
  replace(byId('tabs'), available().map((p) => el('button.tab', {
    role: 'tab', id: `tab-${p.id}`, 'aria-selected': String(p === current), tabIndex: p === current ? 0 : -1,
    onclick: () => state.set({tab: p.id}),
    onkeydown: (event) => {
      const pages = available();
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (!step) return;
      const next = pages[(pages.indexOf(p) + step + pages.length) % pages.length];
      state.set({tab: next.id});
      byId(`tab-${next.id}`).focus();
    },
  }, p.title)));
}

function drawPage() {
  const current = currentTab();
  if (page && page.id === current?.id) { page.view.update(); return; }
  if (page) page.view.close();
  page = null;
  const root = byId('page');
  replace(root);
  replace(byId('settings'));
  if (!current) {
    replace(root, emptyPage());
    return;
  }
  document.title = `${current.title} · Systole board`;
  page = {id: current.id, view: current.open(root, byId('settings'))};
  page.view.update();
}

function emptyPage() {
  if (!model.index) return el('p.empty', {}, model.error || 'Loading…');
  if (!model.index.ready) return el('p.empty', {}, 'Reading the event files…');
  return el('div.empty', {},
    el('h2', {}, 'No runs yet'),
    el('p', {}, 'The board shows every directory below ', el('code', {}, model.index.logdir),
      ' that holds event files. It looks again every second: start a training with its ', el('code', {}, 'model_dir'),
      ' there, and the curves appear here.'));
}

function drawStatus() {
  const index = model.index;
  const loading = byId('loading');
  if (model.error) {
    replace(loading, el('span.warn', {}, model.error));
  } else if (index && !index.ready && index.bytes_total > 0) {
    const share = index.bytes_read / index.bytes_total;
    replace(loading, el('progress', {max: 1, value: share, 'aria-label': 'Reading'}),
      el('span', {}, `${bytes(index.bytes_read)} of ${bytes(index.bytes_total)}`));
  } else if (index) {
    replace(loading, el('span.dim', {title: index.logdir}, `${count(index.runs)} ${index.runs === 1 ? 'run' : 'runs'}`));
  }
  const problems = [];
  if (index?.thinned) problems.push('There are more points than fit in memory: the longest series keep their extremes only (option --memory).');
  if (index?.full) problems.push('The memory is full: new points are not shown (option --memory).');
  if (index?.dropped) problems.push('There are more tags, hyperparameters or runs than fit in memory: some are not shown (option --memory).');
  if (index?.left_out) problems.push(`There are more runs and tags than a page can show: ${index.left_out} are left out. Show a smaller directory.`);
  problems.push(...(index?.problems || []));
  for (const run of model.runs) for (const problem of run.problems.slice(0, 3)) problems.push(`${run.name}: ${problem}`);
  const box = byId('problems');
  box.hidden = problems.length === 0;
  const text = JSON.stringify(problems);
  if (box.dataset.text === text) return;
  box.dataset.text = text;
  replace(box, el('details', {}, el('summary', {}, `${problems.length} ${problems.length === 1 ? 'problem' : 'problems'} in the log directory`),
    el('ul', {}, problems.slice(0, 50).map((p) => el('li', {}, p)))));
}

// -- The list of runs

const kListed = 300;
let runInput = null;

function setRun(run, on) {
  const off = new Set(state.list('off'));
  if (state.list('only').length) {
    const shown = new Set(model.shownRuns().map((r) => r.name));
    model.runs.forEach((r) => { if (!shown.has(r.name)) off.add(r.name); });
  }
  if (on) off.delete(run.name); else off.add(run.name);
  state.set({off: [...off], only: []});
}

// The colours in the address: a name, a colour, a name...
function chosenColors() {
  const list = state.list('colors'), colors = new Map();
  for (let i = 0; i + 1 < list.length; i += 2) if (/^#[0-9a-f]{6}$/.test(list[i + 1])) colors.set(list[i], list[i + 1]);
  return colors;
}

function applyColors() {
  const chosen = chosenColors();
  setRunColors(model.runs.filter((run) => chosen.has(run.name)).map((run) => [run.id, chosen.get(run.name)]));
}

function runRow(run, shown) {
  const on = shown.has(run.id);
  const id = `run-${run.id}`;
  return el('li', {data: {run: run.name}},
    el('input', {type: 'checkbox', id, checked: on, style: {accentColor: runColor(run.id)},
      onchange: (event) => setRun(run, event.target.checked)}),
    el('label', {htmlFor: id, title: `${run.name} · step ${num(run.step)} · ${count(run.events)} events`}, run.name),
    el('input.color', {type: 'color', value: runColor(run.id), title: `Colour of ${run.name}`, 'aria-label': `Colour of ${run.name}`,
      onchange: (event) => state.set({colors: [...chosenColors().set(run.name, event.target.value)].flat()})}),
    el('button.only', {title: `Show only ${run.name}`, onclick: () => state.set({only: [run.name]})}, 'only'));
}

function drawRuns() {
  const root = byId('runs');
  if (!runInput) {
    runInput = el('input', {type: 'search', id: 'run-filter', placeholder: 'Filter runs (regular expression)', value: state.get('runs'),
      'aria-label': 'Filter runs by a regular expression', spellcheck: false,
      oninput: debounce(() => state.set({runs: runInput.value}), 150)});
    append(root, [el('h2', {}, 'Runs'), runInput, el('p.note', {id: 'run-error', role: 'status'}),
      el('div.row', {}, el('button.link', {onclick: () => state.set({off: [], only: []})}, 'all'),
        el('button.link', {onclick: () => state.set({off: model.filteredRuns().map((r) => r.name), only: []})}, 'none')),
      el('ul', {id: 'run-list'}), el('p.note', {id: 'run-note'})]);
  }
  if (document.activeElement !== runInput) runInput.value = state.get('runs');
  const {error} = compileFilter(state.get('runs'));
  byId('run-error').textContent = error;
  runInput.classList.toggle('wrong', error !== '');
  const filtered = model.filteredRuns();
  const shown = model.shownRuns();
  const shownIds = new Set(shown.map((run) => run.id));
  const focus = document.activeElement?.id;
  replace(byId('run-list'), filtered.slice(0, kListed).map((run) => runRow(run, shownIds)));
  if (focus?.startsWith('run-')) byId(focus)?.focus();
  const notes = [];
  if (filtered.length > kListed) notes.push(`${count(filtered.length - kListed)} more: use the filter.`);
  if (shown.length > kMaxDrawnRuns) notes.push(`Charts draw ${kMaxDrawnRuns} of ${count(shown.length)} runs.`);
  byId('run-note').textContent = notes.join(' ');
}

// -- Theme, menu and keys

function applyTheme() {
  document.documentElement.dataset.theme = state.get('theme');
  document.dispatchEvent(new Event('theme'));
}

function switchTheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const now = state.get('theme') || (dark ? 'dark' : 'light');
  state.set({theme: now === 'dark' ? 'light' : 'dark'});
}

function setMenu(open) {
  document.body.classList.toggle('no-side', !open);
  byId('menu').setAttribute('aria-expanded', String(open));
  window.dispatchEvent(new Event('resize'));
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) return;
  if (event.key === 'm') setMenu(document.body.classList.contains('no-side'));
  else if (event.key === 'd') switchTheme();
  else if (event.key === '/') { byId('tag-filter')?.focus(); event.preventDefault(); }
}

function redraw() {
  applyTheme();
  applyColors();
  drawTabs();
  drawRuns();
  drawPage();
}

byId('theme').addEventListener('click', switchTheme);
byId('menu').addEventListener('click', () => setMenu(document.body.classList.contains('no-side')));
byId('skip').addEventListener('click', (event) => { event.preventDefault(); byId('main-content').focus(); });
document.addEventListener('keydown', onKey);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', applyTheme);
state.addEventListener('change', redraw);
model.addEventListener('change', redraw);
model.addEventListener('status', drawStatus);
setMenu(window.innerWidth > 800);
applyTheme();
drawPage();
model.start();
