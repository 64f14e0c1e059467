// A chart as an SVG picture.
import {cssColor} from './dom.js';
import {num} from './format.js';
import {axisTicks} from './scale.js';

const escape = (text) => String(text).replace(/[<>&"']/g, (c) => `&#${c.charCodeAt(0)};`);

function pathOf(view, s, values, begin, end) {
  let path = '', pen = false;
  for (let i = begin; i < end; ++i) {
    const px = view.x(s.x[i]), py = view.y(values[i]);
    if (!Number.isFinite(px) || !Number.isFinite(py)) { pen = false; continue; }
    path += `${pen ? 'L' : 'M'}${px.toFixed(1)} ${py.toFixed(1)}`;
    pen = true;
  }
  return path;
}

export function chartSvg(chart, title) {
  const view = chart.layout();
  const {width, height, area, x, y} = view;
  const legend = chart.series.length * 18;
  const parts = [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height + legend + 24}" font-family="sans-serif" font-size="11">`,
    `<rect width="100%" height="100%" fill="${cssColor('--panel')}"/>`,
    `<g transform="translate(0 24)" fill="${cssColor('--dim')}"><text x="${area.left}" y="-8" font-size="13" fill="${cssColor('--text')}">${escape(title)}</text>`];
  for (const tick of axisTicks(y, chart.options.logY, (area.bottom - area.top) / 42)) {
    parts.push(`<path d="M${area.left} ${y(tick).toFixed(1)}H${area.right}" stroke="${cssColor('--grid')}"/><text x="${area.left - 6}" y="${(y(tick) + 4).toFixed(1)}" text-anchor="end">${escape(num(tick, 4))}</text>`);
  }
  for (const tick of axisTicks(x, chart.options.logX, (area.right - area.left) / 92)) {
    parts.push(`<path d="M${x(tick).toFixed(1)} ${area.top}V${area.bottom}" stroke="${cssColor('--grid')}"/><text x="${x(tick).toFixed(1)}" y="${area.bottom + 16}" text-anchor="middle">${escape(chart.xTickText(tick, x))}</text>`);
  }
  parts.push(`<clipPath id="area"><rect x="${area.left}" y="${area.top}" width="${area.right - area.left}" height="${area.bottom - area.top}"/></clipPath><g clip-path="url(#area)" fill="none">`);
  for (const s of chart.series) for (let part = 0; part < s.segments.length; ++part) {
    const begin = s.segments[part][0], end = part + 1 < s.segments.length ? s.segments[part + 1][0] : s.x.length;
    if (s.smooth) parts.push(`<path d="${pathOf(view, s, s.y, begin, end)}" stroke="${s.color}" stroke-opacity=".28"/>`);
    parts.push(`<path d="${pathOf(view, s, s.smooth || s.y, begin, end)}" stroke="${s.color}" stroke-width="1.6"/>`);
  }
  parts.push('</g>');
  chart.series.forEach((s, i) => parts.push(`<rect x="${area.left}" y="${height + i * 18}" width="10" height="10" fill="${s.color}"/><text x="${area.left + 16}" y="${height + 9 + i * 18}">${escape(s.name)}  ${escape(num(s.last, 6))}</text>`));
  parts.push('</g></svg>');
  return parts.join('\n');
}
