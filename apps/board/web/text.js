// The page of texts: the newest of each tag, rendered as Markdown.
import {getJson} from './api.js';
import {el, replace} from './dom.js';
import {num, wallTime} from './format.js';
import {markdown} from './markdown.js';
import {CardsPage, cardFrame, failure} from './page.js';

// A tensor of strings as text or as a table.
function content({shape, texts}) {
  if (shape.length === 0) return markdown(texts[0] ?? '');
  const columns = shape.length === 1 ? 1 : shape[shape.length - 1];
  const rows = [];
  for (let i = 0; i < texts.length && columns > 0; i += columns) rows.push(texts.slice(i, i + columns));
  return el('table.data', {}, el('tbody', {}, rows.map((row) => el('tr', {}, row.map((cell) => el('td', {}, markdown(cell)))))));
}

function makeCard(tag, run) {
  const more = el('button.small', {title: 'Earlier texts', onclick: () => { most *= 10; card.load(); }}, 'earlier');
  const {root, body} = cardFrame(tag, run, more);
  let most = 1;
  const card = {
    root,
    async load() {
      try {
        const {total, rows} = await getJson('api/text', {run: run.name, tag, most: Math.min(most, 1000)});
        more.hidden = rows.length >= total;
        replace(body, [...rows].reverse().map((row) => el('section.text-entry', {data: {step: row.step}},
          el('p.note', {}, `step ${num(row.step, 9)} · ${wallTime(row.wall)}`), content(row))));
      } catch (error) { replace(body, failure(error)); }
    },
  };
  return card;
}

export const textPage = {
  id: 'text', title: 'Text',
  available: (m) => m.hasTags('text'),
  open: (root) => new CardsPage(root, 'text', makeCard),
};
