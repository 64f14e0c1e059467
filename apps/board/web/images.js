// The page of images, with a slider over the steps.
import {getJson, query} from './api.js';
import {el, replace} from './dom.js';
import {num, wallTime} from './format.js';
import {CardsPage, cardFrame, failure} from './page.js';

let actualSize = false;

function makeCard(tag, run) {
  const {root, body} = cardFrame(tag, run);
  const picture = el('img.picture', {alt: '', decoding: 'async'});
  const slider = el('input', {type: 'range', min: 0, max: 0, value: 0, 'aria-label': `Step of ${tag}`});
  const text = el('p.note');
  replace(body, el('div.picture-box', {}, picture), slider, text);
  let steps = [], follow = true;
  const show = () => {
    const i = Number(slider.value);
    if (!steps[i]) return;
    picture.src = `data/plugin/images/individualImage?${query({run: run.name, tag, sample: 0, index: i})}`;
    picture.alt = `${tag} of ${run.name} at step ${steps[i][0]}`;
    picture.classList.toggle('actual', actualSize);
    text.textContent = `step ${num(steps[i][0], 9)} · ${wallTime(steps[i][1])}`;
  };
  picture.addEventListener('error', () => { text.textContent += ' · not a picture that the browser knows'; });
  slider.addEventListener('input', () => { follow = Number(slider.value) === steps.length - 1; show(); });
  return {
    root,
    async load() {
      try {
        steps = await getJson('api/images', {run: run.name, tag});
        slider.max = steps.length - 1;
        if (follow) slider.value = steps.length - 1;
        slider.hidden = steps.length < 2;
        show();
      } catch (error) { replace(body, failure(error)); }
    },
  };
}

export const imagesPage = {
  id: 'images', title: 'Images',
  available: (m) => m.hasTags('images'),
  open(root) {
    const check = el('label.check', {}, el('input', {type: 'checkbox', checked: actualSize, onchange: (event) => { actualSize = event.target.checked; page.reload(); }}), 'Actual size');
    const page = new CardsPage(root, 'images', makeCard, [check]);
    page.list.classList.add('narrow');
    return page;
  },
};
