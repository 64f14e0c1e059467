// A small part of Markdown as elements: headings, lists, tables, code, bold, italics. Everything else is text; there
// are no links, pictures or HTML.
import {el} from './dom.js';

function inline(text) {
  const parts = [];
  const pattern = /(\*\*|__)(.+?)\1|(\*|_)(?=\S)(.+?)\3|`([^`]+)`/g;
  let at = 0;
  for (let m; (m = pattern.exec(text)); at = pattern.lastIndex) {
    parts.push(text.slice(at, m.index));
    parts.push(m[2] !== undefined ? el('b', {}, m[2]) : m[4] !== undefined ? el('i', {}, m[4]) : el('code', {}, m[5]));
  }
  parts.push(text.slice(at));
  return parts;
}

const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((c) => c.trim());

export function markdown(text) {
  const root = el('div.markdown');
  const lines = text.split('\n');
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    const heading = /^(#{1,6})\s+(.*)/.exec(line);
    if (/^\s*$/.test(line)) { ++i; continue; }
    if (/^(```|~~~)/.test(line)) {
      const fence = line.slice(0, 3), code = [];
      for (++i; i < lines.length && !lines[i].startsWith(fence); ++i) code.push(lines[i]);
      ++i;
      root.append(el('pre', {}, code.join('\n')));
    } else if (heading) {
      root.append(el(`h${Math.min(heading[1].length + 3, 6)}`, {}, inline(heading[2])));
      ++i;
    } else if (line.includes('|') && /^[\s|:-]+$/.test(lines[i + 1] || '') && lines[i + 1].includes('-')) {
      const body = [];
      const head = cells(line);
      for (i += 2; i < lines.length && lines[i].includes('|'); ++i) body.push(cells(lines[i]));
      root.append(el('table.data', {}, el('thead', {}, el('tr', {}, head.map((c) => el('th', {}, inline(c))))),
        el('tbody', {}, body.map((row) => el('tr', {}, row.map((c) => el('td', {}, inline(c))))))));
    } else if (/^(\s*[-*+]|\s*\d+\.)\s+/.test(line)) {
      const items = [];
      for (; i < lines.length && /^(\s*[-*+]|\s*\d+\.)\s+/.test(lines[i]); ++i) items.push(lines[i].replace(/^(\s*[-*+]|\s*\d+\.)\s+/, ''));
      root.append(el('ul', {}, items.map((item) => el('li', {}, inline(item)))));
    } else {
      const paragraph = [];
      for (; i < lines.length && !/^\s*$/.test(lines[i]) && !/^(#|```|~~~)/.test(lines[i]); ++i) paragraph.push(lines[i]);
      root.append(el('p', {}, inline(paragraph.join(' '))));
    }
  }
  return root;
}
