// The page of runs: what each is doing, how fast, and when it ends.
import {el, replace} from './dom.js';
import {ago, count, duration, num, runColor, toNumber, wallTime} from './format.js';
import {model} from './model.js';

const kLiveSeconds = 90;
const kRows = 500;

// Returns {live, share, eta}: the share of the steps that are done and the seconds that are left.
export function progress(run, now = Date.now() / 1000) {
  const s = run.state, last = toNumber(run.last);
  const step = Number(s.step ?? run.step), rate = toNumber(s.steps_per_second ?? NaN);
  const total = toNumber(s.max_steps ?? NaN);
  const share = total > 0 ? Math.min(step / total, 1) : NaN;
  const live = now - last < kLiveSeconds && !(share >= 1);
  return {live, share, step, total, eta: live && rate > 0 && total > step ? (total - step) / rate : NaN};
}

function stateCell(run, p) {
  const [text, kind] = p.live ? ['running', 'live'] : p.share >= 1 ? ['finished', 'done'] : ['stopped', 'idle'];
  return el(`span.badge.${kind}`, {}, text);
}

function row(run) {
  const p = progress(run), s = run.state;
  const number = (v, text) => el('td.number', {}, v === undefined || Number.isNaN(toNumber(v)) ? el('span.dim', {}, '–') : text(toNumber(v)));
  return el('tr', {data: {run: run.name}},
    el('th', {scope: 'row', title: run.name}, el('i.swatch', {style: {background: runColor(run.id)}}), run.name),
    el('td', {}, stateCell(run, p)),
    el('td.number', {}, num(p.step, 9), p.total > 0 && el('span.dim', {}, ` of ${num(p.total, 9)}`)),
    el('td', {}, Number.isFinite(p.share) && el('progress', {max: 1, value: p.share, 'aria-label': `${Math.round(100 * p.share)} %`})),
    el('td.number', {}, Number.isFinite(p.eta) ? duration(p.eta) : el('span.dim', {}, '–')),
    number(s.steps_per_second, (v) => num(v, 3)), number(s.examples_per_second, (v) => count(v)),
    number(s.input_wait, (v) => el(v > 0.2 ? 'span.warn' : 'span', {title: 'The share of the time in which a step waits for input'}, `${num(100 * v, 3)} %`)),
    number(s.loss, (v) => num(v, 5)),
    el('td.number', {}, duration(toNumber(run.last) - toNumber(run.start))),
    el('td', {title: wallTime(toNumber(run.last))}, ago(toNumber(run.last))),
    el('td', {}, [run.restarts && `${run.restarts} ${run.restarts === 1 ? 'restart' : 'restarts'}`, run.damaged && `${run.damaged} damaged records`].filter(Boolean).join(', ')));
}

class RunsPage {
  constructor(root) {
    this.body = el('tbody');
    this.note = el('p.note');
    replace(root, el('div.table-box', {}, el('table.data.runs', {}, el('thead', {}, el('tr', {},
      ['Run', 'State', 'Step', 'Progress', 'Time left', 'Steps/s', 'Examples/s', 'Input wait', 'Loss', 'Duration', 'Last event', 'Notes'].map((t) => el('th', {scope: 'col'}, t)))), this.body)), this.note);
    this.timer = setInterval(() => this.update(), 5000);
  }
  update() {
    const runs = model.filteredRuns();
    const order = [...runs].sort((a, b) => toNumber(b.last) - toNumber(a.last));
    replace(this.body, order.slice(0, kRows).map(row));
    this.note.textContent = order.length > kRows ? `${count(order.length - kRows)} more: use the filter of runs.` : '';
  }
  close() { clearInterval(this.timer); }
}

export const runsPage = {
  id: 'runs', title: 'Runs',
  available: (m) => m.runs.length > 0,
  open: (root) => new RunsPage(root),
};
