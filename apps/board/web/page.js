// What pages of cards have in common: a tag filter, and a card for each tag and run that is seen.
import {debounce, el, replace} from './dom.js';
import {compileFilter, count, runColor} from './format.js';
import {model} from './model.js';
import {state} from './state.js';

const kFirst = 24;

// A page with a card for each shown run and tag of `kind`. makeCard(tag, run) returns
// {root, load(), close()}; load() is called when the card is seen and when the run has changed.
export class CardsPage {
  constructor(root, kind, makeCard, extra = []) {
    this.kind = kind;
    this.makeCard = makeCard;
    this.cards = new Map();
    this.limit = kFirst;
    this.filter = el('input', {type: 'search', id: 'tag-filter', placeholder: 'Filter tags (regular expression)', spellcheck: false,
      value: state.get('tags'), 'aria-label': 'Filter tags by a regular expression',
      oninput: debounce(() => state.set({tags: this.filter.value}), 150)});
    this.note = el('span.note', {role: 'status'});
    this.list = el('div.cards', {id: 'cards'});
    this.more = el('button.more', {onclick: () => { this.limit += kFirst; this.update(); }}, 'Show more');
    replace(root, el('div.toolbar', {}, this.filter, extra, this.note), this.list, this.more);
    this.seen = new IntersectionObserver((entries) => {
      for (const {target, isIntersecting} of entries) {
        const card = this.cards.get(target.dataset.key);
        if (!card) continue;
        card.visible = isIntersecting;
        if (isIntersecting && card.stale) { card.stale = false; card.load(); }
      }
    }, {rootMargin: '200px'});
  }

  update() {
    if (document.activeElement !== this.filter) this.filter.value = state.get('tags');
    const filter = compileFilter(state.get('tags'));
    this.filter.classList.toggle('wrong', filter.error !== '');
    const runs = model.shownRuns();
    const wanted = [];
    for (const tag of model.tags(this.kind)) {
      if (filter.test(tag.name)) for (const run of model.withTag(runs, tag.ranges)) wanted.push({tag: tag.name, run});
    }
    this.note.textContent = filter.error || `${count(wanted.length)} ${wanted.length === 1 ? 'card' : 'cards'}`;
    this.more.hidden = wanted.length <= this.limit;
    const shown = wanted.slice(0, this.limit);
    const keys = new Set();
    const roots = shown.map(({tag, run}) => {
      const key = JSON.stringify([tag, run.name]);
      keys.add(key);
      let card = this.cards.get(key);
      if (!card) {
        card = this.makeCard(tag, run);
        card.root.dataset.key = key;
        card.stale = true;
        this.cards.set(key, card);
        this.seen.observe(card.root);
      } else if (card.events !== run.events || card.redraw) {
        if (card.visible) card.load(); else card.stale = true;
      }
      card.events = run.events;
      return card.root;
    });
    for (const [key, card] of this.cards) if (!keys.has(key)) { card.close?.(); this.seen.unobserve(card.root); this.cards.delete(key); }
    const text = JSON.stringify([...keys]);
    if (text !== this.layoutText) { this.layoutText = text; replace(this.list, roots); }
  }

  reload() { for (const card of this.cards.values()) if (card.visible) card.load(); else card.stale = true; }

  close() {
    this.seen.disconnect();
    for (const card of this.cards.values()) card.close?.();
  }
}

// Returns the frame of a card: {root, body, note}.
export function cardFrame(tag, run, ...buttons) {
  const note = el('span.note', {}, el('i.swatch', {style: {background: runColor(run.id)}}), run.name);
  const body = el('div.card-body');
  return {note, body, root: el('article.card', {data: {tag, run: run.name}, 'aria-label': `${tag}, run ${run.name}`},
    el('header', {}, el('h3', {title: tag}, tag), note, el('div.buttons', {}, buttons)), body)};
}

export function failure(error) { return el('p.note.warn', {}, error.message); }
