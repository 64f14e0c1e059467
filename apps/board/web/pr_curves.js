// The page of precision-recall curves.
import {getJson} from './api.js';
import {LineChart} from './chart.js';
import {el, replace} from './dom.js';
import {num, runColor, toNumber} from './format.js';
import {CardsPage, cardFrame, failure} from './page.js';

// The area under the curve, by trapezoids over the recall.
export function area(recall, precision) {
  const order = recall.map((_, i) => i).sort((a, b) => recall[a] - recall[b]);
  let sum = 0;
  for (let k = 1; k < order.length; ++k) {
    const [a, b] = [order[k - 1], order[k]];
    sum += (recall[b] - recall[a]) * (precision[a] + precision[b]) / 2;
  }
  return sum;
}

function makeCard(tag, run) {
  const {root, body} = cardFrame(tag, run);
  const chart = new LineChart({xKind: 'value', xRange: [0, 1], yRange: [0, 1], label: `${tag} of ${run.name}`});
  const slider = el('input', {type: 'range', min: 0, max: 0, value: 0, 'aria-label': `Step of ${tag}`});
  const text = el('p.note');
  replace(body, chart.root, slider, text);
  let rows = [], follow = true;
  const show = () => {
    const row = rows[Number(slider.value)];
    if (!row) return;
    const recall = Float64Array.from(row.recall, toNumber), precision = Float64Array.from(row.precision, toNumber);
    const steps = new Float64Array(recall.length).fill(row.step), wall = new Float64Array(recall.length).fill(row.wall);
    chart.setSeries([{name: run.name, color: runColor(run.id), x: recall, y: precision, smooth: null, step: steps, wall, start: row.wall, segments: [[0, null]]}]);
    const low = Math.min(...recall), high = Math.max(...recall);
    // A file may leave recalls out: the area is then of a part of the curve.
    const part = low > 0.005 || high < 0.995 ? ` for recalls of ${num(low, 3)} to ${num(high, 3)}` : '';
    text.textContent = `step ${num(row.step, 9)} · precision over recall · area ${num(area([...recall], [...precision]), 4)}${part}`;
  };
  slider.addEventListener('input', () => { follow = Number(slider.value) === rows.length - 1; show(); });
  return {
    root,
    async load() {
      try {
        rows = (await getJson('api/pr_curves', {run: run.name, tag})).rows;
        slider.max = rows.length - 1;
        if (follow) slider.value = rows.length - 1;
        slider.hidden = rows.length < 2;
        show();
      } catch (error) { replace(body, failure(error)); }
    },
    close() { chart.close(); },
  };
}

export const prCurvesPage = {
  id: 'pr_curves', title: 'PR curves',
  available: (m) => m.hasTags('pr_curves'),
  open: (root) => new CardsPage(root, 'pr_curves', makeCard),
};
