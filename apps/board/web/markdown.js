// A small part of Markdown as elements: headings, lists, tables, code, bold, italics, links to http and https. Everything
// else is text; there are no pictures and no HTML.
import {el} from './dom.js';

function inline(text) {
  const parts = [];
  const pattern = /(\*\*|__)(?<bold>.+?)\1|\*(?=\S)(?<star>.+?)\*|(?<!\w)_(?=\S)(?<bar>.+?)_(?!\w)|`(?<code>[^`]+)`|\[(?<title>[^\]]+)\]\((?<link>https?:\/\/[^\s()]+)\)/g;
  let at = 0;
  for (let m; (m = pattern.exec(text)); at = pattern.lastIndex) {
    const {bold, star, bar, code, title, link} = m.groups;
    parts.push(text.slice(at, m.index));
    parts.push(bold !== undefined ? el('b', {}, bold) : (star ?? bar) !== undefined ? el('i', {}, star ?? bar)
      : code !== undefined ? el('code', {}, code) : el('a', {href: link, target: '_blank', rel: 'noopener noreferrer', title: link}, title));
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
