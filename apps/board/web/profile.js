// The pages of profiles: overview, timeline, operations, input. Others are in profile_memory.js and profile_pages.js.
import {getJson} from './api.js';
import {el, replace} from './dom.js';
import {count, num, toNumber} from './format.js';
import {model} from './model.js';
import {memory} from './profile_memory.js';
import {cores, prediction, roofline, tpuV1} from './profile_pages.js';
import {figure, percent, rowsOf, stepChart, table} from './profile_parts.js';
import {state} from './state.js';
import {TraceView, prepareTrace} from './trace_view.js';

function overview(page) {
  const [ops, steps, environment, tips] = page;
  const p = ops?.p || {}, times = steps?.p || {};
  const rows = rowsOf(steps);
  return [tips?.p?.statement && el('p.statement', {}, tips.p.statement),
    el('div.figures', {}, figure('average step', `${times.steptime_ms_average ?? '–'} ms`, `${times.steptime_ms_minimum ?? ''} to ${times.steptime_ms_maximum ?? ''} ms`),
      figure('input', `${times.input_ms_average ?? '–'} ms`), figure('compute', `${times.compute_ms_average ?? '–'} ms`), figure('rest', `${times.idle_ms_average ?? '–'} ms`),
      figure('device idle', p.device_idle_time_percent ?? '–'), figure('host idle', p.host_idle_time_percent ?? '–'),
      figure('FLOPS of the roofline', p.flop_rate_utilization_relative_to_roofline ?? '–'), figure('memory bandwidth', p.memory_bw_utilization_relative_to_hw_limit ?? '–')),
    rows.length > 0 && el('section.card', {}, el('h3', {}, 'Steps'), stepChart(rows, [['compute', '#4c8bf5', (r) => toNumber(r.computeTimeMs ?? 0)],
      ['input', '#d2554a', (r) => toNumber(r.inputTimeMs ?? 0)], ['rest', '#b9c3cf', (r) => toNumber(r.idleTimeMs ?? 0)]], 'ms')),
    el('h3', {}, 'Operations that take longest'), table([['Time', (r) => percent(r.selfTimePercent), true], ['Sum', (r) => percent(r.cumulativeTimePercent), true], ['Category', (r) => r.category, 'word'], ['Operation', (r) => r.operation], ['GFLOP/s', (r) => num(r.flopRate, 4), true]], rowsOf(ops)),
    (tips?.rows || []).length > 0 && [el('h3', {}, 'Advice'), el('ul.advice', {}, rowsOf(tips).map((r) => el('li', {}, r.link)))],
    el('p.note', {}, Object.values(environment?.p || {}).join(' · '))];
}

// A tree whose rows open: time, share of the peak.
function opTree(page) {
  const trees = Object.entries(page).filter(([, v]) => v && typeof v === 'object' && v.metrics);
  const titles = {byCategory: 'Category', byProgram: 'Program', byScope: 'Name scope', bySource: 'Source line', byCategoryExcludeIdle: 'Category without idle'};
  const body = el('tbody'), details = el('div.trace-details');
  let waste = false;
  const bar = (share) => el('meter', {min: 0, max: 1, value: Math.min(share, 1), 'aria-label': percent(share)});
  const row = (node, depth, total) => {
    const share = toNumber(node.metrics?.time ?? 0), flops = toNumber(node.metrics?.flops ?? 0), children = node.children || [];
    const wasted = share * (1 - Math.min(flops, 1));
    let open = null;
    const toggle = () => {
      if (open) { open.forEach((r) => r.close()); open = null; } else {
        const order = (c) => toNumber(c.metrics?.time ?? 0) * (waste ? 1 - Math.min(toNumber(c.metrics?.flops ?? 0), 1) : 1);
        open = [...children].sort((a, b) => order(b) - order(a)).slice(0, 100).map((child) => row(child, depth + 1, total));
        root.after(...open.map((r) => r.root));
      }
      button.setAttribute('aria-expanded', String(Boolean(open)));
    };
    const show = () => {
      const x = node.xla || {};
      const parts = [['Expression', x.expression], ['Provenance', x.provenance], ['Source', x.source], ['Category', x.category],
        ['Layout', x.layout?.dimensions?.map((d) => `${d.size}${d.alignment ? ` of ${Math.ceil(d.size / d.alignment) * d.alignment}` : ''} ${d.semantics || ''}`).join(', ')]].filter(([, v]) => v);
      replace(details, el('h3', {}, node.name), parts.length > 0 && el('table.data', {}, el('tbody', {}, parts.map(([k, v]) => el('tr', {}, el('th', {}, k), el('td.wrap', {}, v))))));
    };
    const button = children.length ? el('button.fold', {'aria-expanded': 'false', 'aria-label': node.name, onclick: toggle}) : el('span.fold');
    const root = el('tr', {data: {node: node.name}, onclick: show}, el('td.name', {style: {paddingLeft: `${12 + depth * 18}px`}}, button, node.name, node.xla?.provenance && el('span.dim', {}, `  ${node.xla.provenance}`)),
      el('td.number', {}, percent(share)), el('td', {}, bar(share)), el('td.number', {}, percent(flops)), el('td', {}, bar(flops)), el('td.number', {}, percent(wasted)));
    return {root, toggle, close() { if (open) toggle(); root.remove(); }};
  };
  const select = el('select', {'aria-label': 'Group by', onchange: () => show()}, trees.map(([key]) => el('option', {value: key}, titles[key] || key)));
  const show = () => {
    const tree = page[select.value];
    const root = row({...tree, name: 'all operations'}, 0, toNumber(tree.metrics.time));
    replace(body, root.root);
    root.toggle();
  };
  show();
  return [el('div.toolbar', {}, select, el('label.check', {}, el('input', {type: 'checkbox', onchange: (event) => { waste = event.target.checked; show(); }}), 'Most wasted time first')),
    el('div.table-box', {}, el('table.data.ops', {}, el('thead', {}, el('tr', {}, ['Operation', 'Time', '', 'FLOPS of the peak', '', 'Wasted'].map((t, i) => el(i % 2 ? 'th.number' : 'th', {scope: 'col'}, t)))), body)), details];
}

function input(page) {
  const [steps, , ops, links] = page;
  const rows = rowsOf(steps);
  return [el('p.statement', {}, steps?.p?.summary_conclusion || ''), el('p', {}, steps?.p?.summary_nextstep || ''),
    rows.length > 0 && el('section.card', {}, el('h3', {}, 'Steps'), stepChart(rows, [['rest of the step', '#4c8bf5', (r) => toNumber(r.noninfeedTimeMs ?? 0)], ['waiting for input', '#d2554a', (r) => toNumber(r.infeedTimeMs ?? 0)]], 'ms')),
    el('h3', {}, 'Input stages'), table([['Stage', (r) => r.opName], ['Count', (r) => count(r.count), true], ['Time', (r) => `${num(r.selfTimeInMs, 4)} ms`, true], ['Share', (r) => percent(r.selfTimeInPercent), true], ['Category', (r) => r.category]], rowsOf(ops)),
    (links?.rows || []).length > 0 && el('ul.advice', {}, rowsOf(links).map((r) => el('li', {}, r.link)))];
}

const kTools = [
  {id: 'overview', title: 'Overview', suffix: '.overview_page.json', show: overview},
  {id: 'trace', title: 'Timeline', suffix: '.trace.json.gz', show: null},
  {id: 'ops', title: 'Operations', suffix: '.op_profile.json', show: opTree},
  {id: 'input', title: 'Input', suffix: '.input_pipeline.json', show: input},
  {id: 'memory', title: 'Memory', suffix: '.memory_viewer.json', show: memory},
  {id: 'roofline', title: 'Roofline', suffix: '.systole.json', show: roofline},
  {id: 'cores', title: 'Cores', suffix: '.pod_viewer.json', show: cores},
  {id: 'prediction', title: 'Prediction', suffix: '.prediction.json', show: prediction},
  {id: 'tpu_v1', title: 'TPU v1', suffix: '.tpu_v1.json', show: tpuV1},
];

// The tools that a file of a profile serves; names without a host ("op_profile.json") are those of 2018.
function toolOf(file) { return kTools.find((t) => file.endsWith(t.suffix) || `.${file}` === t.suffix); }

class ProfilePage {
  constructor(root) {
    this.select = el('select', {'aria-label': 'Profile', onchange: () => state.set({profile: this.select.value, tool: ''})});
    this.tools = el('div.row', {role: 'tablist', 'aria-label': 'Pages of the profile'});
    this.body = el('div.profile');
    replace(root, el('div.toolbar', {}, this.select, this.tools), this.body);
  }
  close() { this.view?.close(); }

  async update() {
    const profiles = [...model.index.profiles].sort().reverse();
    const wanted = profiles.includes(state.get('profile')) ? state.get('profile') : profiles[0];
    const list = JSON.stringify([profiles, wanted]);
    if (list !== this.list) {
      this.list = list;
      replace(this.select, profiles.map((p) => el('option', {value: p, selected: p === wanted}, p)));
    }
    if (wanted !== this.profile) {
      this.profile = wanted;
      this.shown = '';
      try { this.files = (await getJson('api/profile', {profile: wanted})).files; } catch (error) { replace(this.body, el('p.warn', {}, error.message)); return; }
    }
    const found = this.files.filter(toolOf);
    const file = found.find((f) => f === state.get('tool')) || found.find((f) => toolOf(f).id === 'overview') || found[0];
    replace(this.tools, found.sort((a, b) => kTools.indexOf(toolOf(a)) - kTools.indexOf(toolOf(b))).map((f) => {
      const tool = toolOf(f), host = f.slice(0, -tool.suffix.length), several = new Set(found.map((g) => g.slice(0, -toolOf(g).suffix.length))).size > 1;
      return el('button.small', {role: 'tab', 'aria-selected': String(f === file), 'aria-pressed': String(f === file), onclick: () => state.set({tool: f})}, tool.title, several && ` (${host})`);
    }));
    if (!file) { replace(this.body, el('p.empty', {}, 'This profile has no files that this page shows.')); return; }
    if (file === this.shown) return;
    this.shown = file;
    this.view?.close();
    this.view = null;
    replace(this.body, el('p.note', {}, 'Reading…'));
    try {
      const tool = toolOf(file);
      if (tool.id === 'trace') {
        this.view = new TraceView(prepareTrace(await getJson('api/profile_trace', {profile: wanted, file})));
        replace(this.body, this.view.root);
        this.view.request();
      } else {
        replace(this.body, tool.show(await getJson('api/profile_page', {profile: wanted, file})));
      }
    } catch (error) { replace(this.body, el('p.warn', {}, error.message)); }
  }
}

export const profilePage = {
  id: 'profile', title: 'Profile',
  available: (m) => (m.index?.profiles || []).length > 0,
  open: (root) => new ProfilePage(root),
};
