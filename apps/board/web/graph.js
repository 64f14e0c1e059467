// The page of the graph: name scopes open and close, a click on a node shows its attributes.
import {getJson} from './api.js';
import {debounce, el, replace} from './dom.js';
import {count} from './format.js';
import {boxTitle, buildTree, isScope, layoutScope, liftEdges} from './graph_layout.js';
import {model} from './model.js';
import {state} from './state.js';

const kSvg = 'http://www.w3.org/2000/svg';
const kFamilies = [[/MatMul|Conv|Einsum|Dot/, 'compute'], [/Variable|VarHandle/, 'variable'], [/Placeholder|Iterator|Arg/, 'input'],
  [/Relu|Sigmoid|Tanh|Softmax|Elu|Gelu/, 'activation'], [/Adam|Momentum|Gradient|Assign|Apply/, 'update'], [/Const/, 'constant']];

function svg(name, attributes, ...children) {
  const node = document.createElementNS(kSvg, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

class GraphPage {
  constructor(root) {
    this.open = new Set();
    this.select = el('select', {'aria-label': 'Run', onchange: () => state.set({run: this.select.value, node: ''})});
    this.search = el('input', {type: 'search', id: 'tag-filter', placeholder: 'Find a node', 'aria-label': 'Find a node', spellcheck: false,
      oninput: debounce(() => this.find(), 200)});
    this.note = el('span.note', {role: 'status'});
    const button = (text, title, action) => el('button.small', {title, onclick: action}, text);
    this.view = svg('svg', {class: 'graph', role: 'group', 'aria-label': 'Graph'});
    this.details = el('aside.details', {'aria-live': 'polite'}, el('p.note', {}, 'Select a node to see its attributes. Enter or a double click opens a scope.'));
    replace(root, el('div.toolbar', {}, this.select, this.search, button('Fit', 'Show the whole graph', () => this.fit(true)),
      button('Open all', 'Open every scope (up to 800 nodes)', () => this.openAll()), button('Close all', 'Close every scope', () => { this.open.clear(); this.draw(true); }), this.note),
    el('div.graph-box', {}, this.view, this.details));
    this.listen();
    const canvas = el('canvas').getContext('2d');
    canvas.font = '12px system-ui, sans-serif';
    const widths = new Map();
    this.measure = (text) => {
      if (!widths.has(text)) widths.set(text, Math.min(canvas.measureText(text).width, 220));
      return widths.get(text);
    };
  }

  close() { this.abort?.abort(); }

  async update() {
    const runs = model.runs.filter((run) => run.graph);
    const wanted = runs.find((run) => run.name === state.get('run')) || runs[0];
    const text = JSON.stringify([runs.map((r) => r.name), wanted?.name]);
    if (text !== this.runText) {
      this.runText = text;
      replace(this.select, runs.map((run) => el('option', {value: run.name, selected: run === wanted}, run.name)));
    }
    if (!wanted || wanted.name === this.run) return;
    this.run = wanted.name;
    this.note.textContent = 'Reading…';
    try {
      const {nodes, cut} = await getJson('api/graph', {run: wanted.name});
      this.nodes = nodes;
      this.tree = buildTree(nodes);
      this.edges = liftEdges(nodes, this.tree.leaves);
      this.open = new Set();
      this.note.textContent = `${count(nodes.length)} nodes${cut ? ' (the first ones)' : ''}`;
      if (nodes.length <= 40) this.openAll(); else this.draw(true);
      if (state.get('node')) this.reveal(state.get('node'));
    } catch (error) { this.note.textContent = error.message; }
  }

  openAll() {
    const visit = (item, budget) => {
      for (const child of item.children.values()) if (isScope(child) && budget.left > 0) {
        budget.left -= child.children.size;
        this.open.add(child.path);
        visit(child, budget);
      }
    };
    visit(this.tree.root, {left: 800});
    this.draw(true);
  }

  draw(fit = false) {
    this.layout = layoutScope(this.tree.root, this.edges, this.open, this.measure);
    this.elements = new Map();
    const defs = svg('defs', {}, svg('marker', {id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: 'userSpaceOnUse', orient: 'auto'}, svg('path', {d: 'M0 0L8 4L0 8z', class: 'arrow'})));
    this.view.replaceChildren(defs, this.drawLayout(this.layout, 0, 0, 0));
    if (fit || !this.box) this.fit(); else this.setBox(this.box);
    this.mark();
  }

  drawLayout(layout, x, y, depth) {
    const group = svg('g', {transform: `translate(${x} ${y})`});
    for (const edge of layout.edges) group.append(this.drawEdge(edge));
    for (const box of layout.boxes) group.append(this.drawBox(box, depth));
    if (layout.hidden) {
      const text = svg('text', {x: layout.width / 2, y: layout.height - 2, class: 'graph-note'});
      text.textContent = `and ${layout.hidden} more: use the search`;
      group.append(text);
    }
    return group;
  }

  drawEdge({from, to, count: edges, control}) {
    const x0 = from.x + from.width / 2, y0 = from.y + from.height, x1 = to.x + to.width / 2, y1 = to.y - 2;
    const bend = Math.max(18, Math.abs(y1 - y0) / 2);
    const path = svg('path', {d: `M${x0} ${y0}C${x0} ${y0 + bend} ${x1} ${y1 - bend} ${x1} ${y1}`, class: `edge${control ? ' control' : ''}`,
      'stroke-width': Math.min(1 + Math.log2(edges), 5), 'marker-end': 'url(#arrow)'});
    path.append(svg('title', {}, `${from.item.path} → ${to.item.path}: ${edges} ${control ? 'control ' : ''}${edges === 1 ? 'edge' : 'edges'}`));
    return path;
  }

  drawBox(box, depth) {
    const {item, inner} = box;
    const scope = isScope(item);
    const family = scope ? 'scope' : kFamilies.find(([pattern]) => pattern.test(item.op))?.[1] || 'op';
    const text = svg('text', {x: box.width / 2, y: inner ? 17 : box.height / 2 + 4});
    text.textContent = clip(inner ? item.name : boxTitle(item), box.width / 6.2);
    const group = svg('g', {transform: `translate(${box.x} ${box.y})`, class: `box ${family}${inner ? ` open depth${depth % 3}` : ''}`, tabindex: 0,
      role: 'button', 'aria-label': scope ? `scope ${item.path}, ${item.count} nodes` : `${item.op} ${item.path}`, 'data-path': item.path},
    svg('rect', {width: box.width, height: box.height, rx: scope ? 8 : 14}), text, svg('title', {}, scope ? `${item.path}: ${item.count} nodes` : `${item.path}\n${item.op}`));
    if (scope) group.setAttribute('aria-expanded', String(Boolean(inner)));
    group.addEventListener('click', (event) => { event.stopPropagation(); this.choose(item); });
    group.addEventListener('dblclick', (event) => { event.stopPropagation(); this.toggle(item); });
    group.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      event.stopPropagation();
      if (scope) this.toggle(item); else this.choose(item);
    });
    group.addEventListener('focus', () => this.center(group, true));
    this.elements.set(item.path, group);
    if (inner) group.append(this.drawLayout(inner, 0, 24, depth + 1));
    return group;
  }

  toggle(item) {
    if (!isScope(item)) return;
    if (this.open.has(item.path)) this.open.delete(item.path); else this.open.add(item.path);
    this.draw();
    this.elements.get(item.path)?.focus();
  }

  mark() {
    const path = state.get('node');
    for (const [name, node] of this.elements) node.classList.toggle('chosen', name === path);
  }

  async choose(item) {
    state.set({node: item.path}, {silent: true});
    this.mark();
    if (isScope(item) && item.node < 0) {
      const ops = new Map();
      const visit = (n) => { if (n.op) ops.set(n.op, (ops.get(n.op) || 0) + 1); for (const c of n.children.values()) visit(c); };
      visit(item);
      replace(this.details, el('h3', {}, item.path), el('p.note', {}, `${count(item.count)} nodes`),
        el('button.more', {onclick: () => this.toggle(item)}, this.open.has(item.path) ? 'Close' : 'Open'),
        el('table.data', {}, el('tbody', {}, [...ops].sort((a, b) => b[1] - a[1]).slice(0, 30).map(([op, n]) => el('tr', {}, el('td', {}, op), el('td.number', {}, n))))));
      return;
    }
    try {
      const node = await getJson('api/graph_node', {run: this.run, name: item.path});
      replace(this.details, el('h3', {}, item.path), el('p', {}, node.op, node.device && el('span.dim', {}, ` on ${node.device}`)),
        node.inputs.length > 0 && el('h4', {}, 'Inputs'), el('ul', {}, node.inputs.map((i) => el('li', {}, el('button.link', {onclick: () => this.reveal(i.replace(/^\^|:\d+$/g, ''))}, i)))),
        node.attributes.length > 0 && el('h4', {}, 'Attributes'), node.attributes.map(([key, value]) => el('details', {open: value.length < 200}, el('summary', {}, key), el('pre', {}, value))));
    } catch (error) { replace(this.details, el('p.warn', {}, error.message)); }
  }

  find() {
    const text = this.search.value.toLowerCase();
    if (!text || !this.nodes) return;
    const hits = this.nodes.filter(([name]) => name.toLowerCase().includes(text));
    this.note.textContent = `${count(hits.length)} found`;
    replace(this.details, el('h3', {}, `${count(hits.length)} found`), el('ul', {}, hits.slice(0, 100).map(([name]) => el('li', {}, el('button.link', {onclick: () => this.reveal(name)}, name)))));
  }

  // Opens the scopes around a node and moves it to the middle.
  reveal(path) {
    const parts = path.split('/');
    let item = this.tree.root;
    for (const part of parts) {
      item = item.children.get(part);
      if (!item) return;
      if (isScope(item) && item.path !== path) this.open.add(item.path);
    }
    this.draw();
    this.choose(item);
    if (this.elements.has(path)) this.center(this.elements.get(path));
  }

  // Moves a box to the middle. With `outside`, only one that is not in view.
  center(element, outside = false) {
    const place = element.getBoundingClientRect(), view = this.view.getBoundingClientRect(), scale = this.box[2] / view.width;
    if (outside && place.top >= view.top && place.top <= view.bottom && place.left >= view.left && place.left <= view.right) return;
    this.setBox([this.box[0] + (place.x + place.width / 2 - view.x - view.width / 2) * scale, this.box[1] + (place.y + place.height / 2 - view.y - view.height / 2) * scale, this.box[2], this.box[3]]);
  }

  // Shows the graph: all of its width, and all of its height unless that makes it too small to read; with `whole`, all of it.
  fit(whole = false) {
    const width = this.view.clientWidth || 800, height = this.view.clientHeight || 500;
    const tall = this.layout.height / height;
    const scale = Math.max(this.layout.width / width, whole || tall < 2 ? tall : 0, 0.75);
    const y = Math.min(0, (this.layout.height - height * scale) / 2);
    this.setBox([(this.layout.width - width * scale) / 2, y, width * scale, height * scale]);
  }

  setBox(box) {
    this.box = box;
    this.view.setAttribute('viewBox', box.join(' '));
  }

  listen() {
    let drag = null;
    this.view.addEventListener('wheel', (event) => {
      event.preventDefault();
      const rect = this.view.getBoundingClientRect(), factor = Math.exp(Math.sign(event.deltaY) * 0.15);
      const [x, y, w, h] = this.box, fx = (event.clientX - rect.x) / rect.width, fy = (event.clientY - rect.y) / rect.height;
      this.setBox([x + w * fx * (1 - factor), y + h * fy * (1 - factor), w * factor, h * factor]);
    }, {passive: false});
    this.view.addEventListener('pointerdown', (event) => { drag = {x: event.clientX, y: event.clientY, box: this.box}; });
    window.addEventListener('pointerup', () => { drag = null; });
    this.view.addEventListener('pointermove', (event) => {
      if (!drag) return;
      const scale = drag.box[2] / this.view.clientWidth;
      this.setBox([drag.box[0] - (event.clientX - drag.x) * scale, drag.box[1] - (event.clientY - drag.y) * scale, drag.box[2], drag.box[3]]);
    });
  }
}

function clip(text, letters) { return text.length > letters ? `${text.slice(0, Math.max(letters - 1, 3))}…` : text; }

export const graphPage = {
  id: 'graph', title: 'Graph',
  available: (m) => m.runs.some((run) => run.graph),
  open: (root) => new GraphPage(root),
};
