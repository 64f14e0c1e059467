// What pages of profiles are made of: tables, figures, bars of steps.
import {context, cssColor, el} from './dom.js';
import {num, toNumber} from './format.js';
import {axisTicks, linearScale} from './scale.js';

export const percent = (v) => (toNumber(v) > 0 && toNumber(v) < 1e-4 ? '< 0.01 %' : `${num(100 * toNumber(v), 3)} %`);

// Rows of a table of Google Charts as objects by column id.
export function rowsOf(table) {
  const ids = (table?.cols || []).map((c) => c.id);
  return (table?.rows || []).map((r) => Object.fromEntries(r.c.map((cell, i) => [ids[i], cell?.v])));
}

// Draws the grid lines of a vertical scale and their texts, tick => text.
export function drawYAxis(ctx, y, area, ticks, text) {
  ctx.font = '11px system-ui, sans-serif';
  ctx.textAlign = 'right';
  ctx.textBaseline = 'middle';
  for (const tick of ticks) {
    ctx.strokeStyle = cssColor('--grid');
    ctx.strokeRect(area.left, Math.round(y(tick)) + 0.5, area.right - area.left, 0);
    ctx.fillStyle = cssColor('--dim');
    ctx.fillText(text(tick), area.left - 6, y(tick));
  }
}

// The colours of a chart: [[title, colour], ...].
export const legend = (parts) => el('p.note.legend', {}, parts.map(([title, color]) => [el('i.swatch', {style: {background: color}}), `${title}  `]));

// Bars of the steps, stacked: parts are [[title, colour, row => value]].
export function stepChart(rows, parts, unit) {
  const canvas = el('canvas', {role: 'img', 'aria-label': 'Time of each step'}), box = el('div.plot', {}, canvas);
  const draw = () => {
    const width = box.clientWidth, height = 220;
    if (!width) return;
    const ctx = context(canvas, width, height);
    const area = {left: 64, right: width - 8, top: 8, bottom: height - 24};
    const most = Math.max(...rows.map((r) => parts.reduce((sum, [, , value]) => sum + value(r), 0)), 1e-9);
    const y = linearScale([0, most * 1.05], [area.bottom, area.top]), step = (area.right - area.left) / rows.length;
    drawYAxis(ctx, y, area, axisTicks(y, false, 5), (tick) => `${num(tick, 3)} ${unit}`);
    rows.forEach((row, i) => {
      let base = 0;
      for (const [, color, value] of parts) {
        ctx.fillStyle = color;
        ctx.fillRect(area.left + i * step + 0.5, y(base + value(row)), Math.max(step - 1, 0.8), y(base) - y(base + value(row)));
        base += value(row);
      }
    });
    ctx.fillStyle = cssColor('--dim');
    ctx.textAlign = 'center';
    const every = Math.ceil(rows.length / Math.max(1, (area.right - area.left) / 60));
    rows.forEach((row, i) => { if (i % every === 0) ctx.fillText(row.stepnum, area.left + (i + 0.5) * step, area.bottom + 12); });
  };
  new ResizeObserver(draw).observe(box);
  return el('div', {}, box, legend(parts));
}

export const figure = (title, value, note = '') => el('div.figure', {}, el('b', {}, value), el('span', {}, title), note && el('small', {}, note));

// Columns are [title, row => text, kind]: kind is true for numbers, 'word' for texts that stay on one line.
export function table(columns, rows, limit = 200) {
  const cell = (kind) => (kind === true ? 'td.number' : kind === 'word' ? 'td' : 'td.wrap');
  return el('div.table-box', {}, el('table.data', {}, el('thead', {}, el('tr', {}, columns.map(([title, , kind]) => el(kind === true ? 'th.number' : 'th', {scope: 'col'}, title)))),
    el('tbody', {}, rows.slice(0, limit).map((row) => el('tr', {}, columns.map(([, value, kind]) => el(cell(kind), {}, value(row))))))));
}
