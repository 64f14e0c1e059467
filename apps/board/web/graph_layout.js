// The name scopes of a graph as a tree, and the places of its boxes.

import {count} from './format.js';

const kPad = 16, kTitle = 24, kLayerGap = 34, kGap = 18, kHeight = 28;
const kMaxChildren = 250;  // boxes of one scope; the rest is one box

// Builds the tree: {name, path, op, children: Map, node: index, parent, count}.
export function buildTree(nodes) {
  const root = {name: '', path: '', op: '', children: new Map(), node: -1, parent: null, count: 0};
  const leaves = [];
  nodes.forEach(([name, op], index) => {
    let at = root;
    const parts = name.split('/').slice(0, 64);
    parts.forEach((part, k) => {
      if (!at.children.has(part)) at.children.set(part, {name: part, path: parts.slice(0, k + 1).join('/'), op: '', children: new Map(), node: -1, parent: at, count: 0});
      at = at.children.get(part);
    });
    at.node = index;
    at.op = op;
    leaves[index] = at;
    for (let p = at; p; p = p.parent) ++p.count;
  });
  return {root, leaves};
}

export const isScope = (item) => item.children.size > 0;

// Lifts every edge to the two children of the lowest common scope: scope -> Map("a>b" -> {from, to, count, control}).
export function liftEdges(nodes, leaves) {
  const lifted = new Map();
  const add = (source, target, control) => {
    if (!source || !target || source === target) return;
    const chain = new Map();
    for (let p = source, below = source; p; below = p, p = p.parent) chain.set(p, below);
    for (let p = target, below = target; p; below = p, p = p.parent) {
      if (!chain.has(p)) continue;
      const from = chain.get(p), to = below;
      if (from === to || from === p || to === p) return;
      if (!lifted.has(p)) lifted.set(p, new Map());
      const key = `${from.path}>${to.path}`;
      const edge = lifted.get(p).get(key) || {from, to, count: 0, control: true};
      ++edge.count;
      edge.control = edge.control && control;
      lifted.get(p).set(key, edge);
      return;
    }
  };
  nodes.forEach(([, , inputs, controls], index) => {
    for (const i of inputs) add(leaves[i], leaves[index], false);
    for (const i of controls) add(leaves[i], leaves[index], true);
  });
  return lifted;
}

// The name of a closed box; that of a scope has the number of its nodes.
export const boxTitle = (item) => (isScope(item) ? `${item.name} (${count(item.count)})` : item.name);

// Places the children of a scope in layers, edges downwards. Returns {width, height, boxes, edges}: boxes have x, y,
// width, height, item, inner (the layout of an open scope). `open` is a set of paths.
export function layoutScope(scope, lifted, open, measure) {
  const all = [...scope.children.values()];
  const items = all.slice(0, kMaxChildren);
  const boxes = new Map(items.map((item) => {
    if (isScope(item) && open.has(item.path)) {
      const inner = layoutScope(item, lifted, open, measure);
      return [item, {item, inner, width: Math.max(inner.width, measure(item.name) + 40), height: inner.height + kTitle}];
    }
    return [item, {item, inner: null, width: Math.max(measure(boxTitle(item)) + 26, 64), height: kHeight}];
  }));
  const edges = [...(lifted.get(scope)?.values() || [])].filter((e) => boxes.has(e.from) && boxes.has(e.to));
  const layers = order(assignLayers(items, edges), edges);
  let y = kPad, width = 0;
  for (const layer of layers) {
    const total = layer.reduce((sum, item) => sum + boxes.get(item).width + kGap, -kGap);
    width = Math.max(width, total);
  }
  for (const layer of layers) {
    const total = layer.reduce((sum, item) => sum + boxes.get(item).width + kGap, -kGap);
    const height = Math.max(...layer.map((item) => boxes.get(item).height));
    let x = kPad + (width - total) / 2;
    for (const item of layer) {
      const box = boxes.get(item);
      Object.assign(box, {x, y: y + (height - box.height) / 2});
      x += box.width + kGap;
    }
    y += height + kLayerGap;
  }
  return {width: width + 2 * kPad, height: y - kLayerGap + kPad, boxes: [...boxes.values()], hidden: all.length - items.length,
    edges: edges.map((e) => ({...e, from: boxes.get(e.from), to: boxes.get(e.to)}))};
}

// Longest path from the sources; edges that close a cycle are left out. Wide layers are folded.
function assignLayers(items, edges) {
  const out = new Map(items.map((i) => [i, []])), indegree = new Map(items.map((i) => [i, 0]));
  for (const e of edges) { out.get(e.from).push(e.to); indegree.set(e.to, indegree.get(e.to) + 1); }
  const rank = new Map(items.map((i) => [i, 0]));
  const ready = items.filter((i) => indegree.get(i) === 0);
  const done = new Set();
  const left = new Set(items);
  while (left.size) {
    if (!ready.length) ready.push(left.values().next().value);  // a cycle
    const item = ready.shift();
    if (done.has(item)) continue;
    done.add(item);
    left.delete(item);
    for (const to of out.get(item)) {
      if (done.has(to)) continue;
      rank.set(to, Math.max(rank.get(to), rank.get(item) + 1));
      indegree.set(to, indegree.get(to) - 1);
      if (indegree.get(to) === 0) ready.push(to);
    }
  }
  // A source moves down to the layer above its first consumer.
  for (const item of items) {
    const targets = out.get(item).map((t) => rank.get(t));
    if (targets.length && !edges.some((e) => e.to === item)) rank.set(item, Math.max(0, Math.min(...targets) - 1));
  }
  const layers = [];
  for (const item of items) (layers[rank.get(item)] ||= []).push(item);
  const kWide = 12;
  return layers.filter(Boolean).flatMap((layer) => {
    const rows = [];
    for (let i = 0; i < layer.length; i += kWide) rows.push(layer.slice(i, i + kWide));
    return rows;
  });
}

// Sorts each layer by the mean place of its neighbours, a few times down and up.
function order(layers, edges) {
  const before = new Map(), after = new Map();
  for (const e of edges) {
    (before.get(e.to) || before.set(e.to, []).get(e.to)).push(e.from);
    (after.get(e.from) || after.set(e.from, []).get(e.from)).push(e.to);
  }
  const place = new Map();
  const note = (layer) => layer.forEach((item, i) => place.set(item, (i + 0.5) / layer.length));
  layers.forEach(note);
  for (let pass = 0; pass < 4; ++pass) {
    const down = pass % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      const mean = (item) => {
        const around = ((down ? before : after).get(item) || []).map((n) => place.get(n));
        return around.length ? around.reduce((a, b) => a + b, 0) / around.length : place.get(item);
      };
      const keys = new Map(layer.map((item) => [item, mean(item)]));
      layer.sort((a, b) => keys.get(a) - keys.get(b));
      note(layer);
    }
  }
  return layers;
}
