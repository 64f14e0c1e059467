// The browser test of `systole board`: node board_test.js SYSTOLE NODE_MODULES RESULTS. Writes event files, opens the
// page in headless Chromium and compares what it shows with what was written. Pictures go to RESULTS.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {findBrowser, findProfile, openPage, startBoard, temporaryFolder} from './browser.js';
import {EventFile, scalar} from './event_file.js';
import {kStart, writePlainRuns, writeSamplePages, writeSampleProfile, writeSampleRuns} from './sample_runs.js';

const [systole, modules, results] = process.argv.slice(2);
const tools = findBrowser(modules);
const iris = new URL('../../../examples/configs/iris.yaml', import.meta.url).pathname;
const folder = temporaryFolder();
fs.mkdirSync(results, {recursive: true});

// Runs with known values, beside the sample runs.
const exact = new EventFile(path.join(folder, 'exact'), kStart);
const written = [];
for (let step = 0; step < 50; ++step) {
  const value = step >= 20 && step < 23 ? NaN : Math.fround(step < 20 ? 1 - step / 100 : 0.2 + step / 1000);
  written.push(value);
  exact.summary(kStart + step, step, scalar('exact/value', value), scalar('<img src=x onerror=alert(1)>', step));
}
exact.flush();
const many = new EventFile(path.join(folder, 'million'), kStart);
for (let step = 0; step < 300000; ++step) many.summary(kStart + step * 0.01, step, scalar('long/noise', step === 123456 ? 50 : Math.sin(step * 0.7) + step * 1e-5));
many.flush();
writeSampleRuns(folder);
writeSampleProfile(folder, 200000);
writeSamplePages(folder);

const board = await startBoard(systole, folder);
const {page, problems, close} = await openPage(tools);
let passed = 0;

async function test(name, body) {
  try {
    await body();
    ++passed;
    console.log(`ok   ${name}`);
  } catch (error) {
    console.log(`FAIL ${name}\n${error.stack}`);
    process.exitCode = 1;
    await page.screenshot({path: path.join(results, `failed_${name.replace(/\W+/g, '_')}.png`)}).catch(() => {});
  }
}

// Waits until a function of the page returns true. (The page's policy forbids what page.waitForFunction does.)
async function until(condition, argument, {timeout = 10000} = {}) {
  for (const end = Date.now() + timeout; Date.now() < end; await page.waitForTimeout(50)) if (await page.evaluate(condition, argument)) return;
  throw new Error(`not true after ${timeout} ms: ${condition}`);
}

const card = (tag) => page.locator(`article.card[data-tag="${tag}"]`);
const open = async (hash) => {
  await page.goto('about:blank');
  await page.goto(`${board.url}#${hash}`);
  await page.waitForSelector('article.card .plot[data-points]:not([data-points="0"])', {timeout: 20000});
};
async function drag(tag, from, to) {
  const box = await card(tag).locator('canvas').boundingBox();
  await page.mouse.move(box.x + box.width * from, box.y + 80);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, box.y + 82, {steps: 4});
  await page.mouse.up();
}

await test('the first picture comes soon', async () => {
  const paints = [];
  for (let i = 0; i < 7; ++i) {
    await open('tags=^exact');
    paints.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime));
  }
  assert.ok(paints.every((paint) => paint > 0), 'no first paint');
  paints.sort((a, b) => a - b);
  console.log(`     first paint ${Math.round(paints[3])} ms, the median of 7; ${Math.round(paints[0])} to ${Math.round(paints[6])} ms`);
});

await test('values are those of the file', async () => {
  await open('tags=^exact&smooth=0');
  const row = card('exact/value').locator('.values tr[data-run="exact"]');
  assert.equal(Number(await row.getAttribute('data-last')), written[49]);
  assert.equal(await row.getAttribute('data-total'), '50');
  const canvas = card('exact/value').locator('canvas');
  await canvas.focus();
  const seen = new Map();
  for (let i = 0; i < 90; ++i) {
    await page.keyboard.press('ArrowLeft');
    const tip = card('exact/value').locator('.tip tr[data-run="exact"]');
    seen.set(Number(await tip.getAttribute('data-step')), Number(await tip.getAttribute('data-value')));
  }
  assert.ok(seen.size > 15);
  for (const [step, value] of seen) assert.ok(Object.is(value, written[step]), `step ${step}: ${value}, expected ${written[step]}`);
});

await test('NaN is a gap with marks', async () => {
  assert.equal(await card('exact/value').locator('.plot').getAttribute('data-gaps'), '3');
  // No line between the points beside the gap: the pixels between their heights have the colour of the ground.
  const painted = await card('exact/value').locator('canvas').evaluate((canvas) => {
    const ratio = canvas.width / canvas.clientWidth, left = 58, right = canvas.clientWidth - 12;
    const x = Math.round((left + (right - left) * 21.5 / 49) * ratio);
    const column = canvas.getContext('2d').getImageData(x, 75 * ratio, 1, 75 * ratio).data;
    let coloured = 0;
    for (let i = 0; i < column.length; i += 4) if (column[i + 3] > 0 && Math.max(column[i], column[i + 1], column[i + 2]) - Math.min(column[i], column[i + 1], column[i + 2]) > 60) ++coloured;
    return coloured;
  });
  assert.equal(painted, 0);
});

await test('names with HTML are text', async () => {
  await open('tags=onerror');
  assert.equal(await page.locator('article.card h3').first().textContent(), '<img src=x onerror=alert(1)>');
  assert.equal(await page.locator('article.card img').count(), 0);
});

await test('zoom shows the points of the range, and resets', async () => {
  await open('tags=^long&smooth=0');
  const all = Number(await card('long/noise').locator('.plot').getAttribute('data-points'));
  assert.ok(all > 300 && all < 5000, `${all} points of 300,000`);
  const whole = page.waitForResponse((r) => r.url().endsWith('/api/scalars') && r.request().postData().includes('"from"'));
  await drag('long/noise', 0.4, 0.42);
  const series = (await (await whole).json()).series[0];
  assert.ok(series.x.length > 1000 && series.x[series.x.length - 1] - series.x[0] < 30000);
  await card('long/noise').getByRole('button', {name: /Show all/}).click();
  await until((points) => Math.abs(Number(document.querySelector('.plot').dataset.points) - points) < 10, all);
});

await test('one point in 300,000 is not hidden', async () => {
  await open('tags=^long&smooth=0&runs=million');
  const answer = await page.evaluate(async () => (await fetch('api/scalars', {method: 'POST',
    body: JSON.stringify({tag: 'long/noise', runs: [...Array(20).keys()], points: 300})})).json());
  assert.equal(Math.max(...answer.series[0].y), 50);
  const axis = await card('long/noise').locator('canvas').evaluate((c) => c.getAttribute('aria-label'));
  assert.ok(axis);
});

await test('panning a long series keeps up', async () => {
  const box = await card('long/noise').locator('canvas').boundingBox();
  await drag('long/noise', 0.3, 0.6);
  await page.waitForTimeout(300);
  await page.keyboard.down('Shift');
  await page.mouse.move(box.x + 300, box.y + 90);
  await page.mouse.down();
  const milliseconds = await page.evaluate(() => new Promise((resolve) => {
    const canvas = document.querySelector('article.card canvas');
    const rect = canvas.getBoundingClientRect(), begin = performance.now();
    const frames = 60;
    for (let i = 0; i < frames; ++i) canvas.dispatchEvent(new PointerEvent('pointermove', {clientX: rect.x + 300 - i, clientY: rect.y + 90, shiftKey: true}));
    resolve((performance.now() - begin) / frames);
  }));
  await page.mouse.up();
  await page.keyboard.up('Shift');
  console.log(`     ${milliseconds.toFixed(1)} ms a frame`);
  assert.ok(milliseconds > 0);
});

await test('filters choose runs and tags', async () => {
  await open('tags=^(loss|accuracy)$&runs=adam');
  assert.equal(await page.locator('article.card').count(), 2);
  const names = await card('loss').locator('.values tr').evaluateAll((rows) => rows.map((r) => r.dataset.run));
  assert.ok(names.length >= 3 && names.every((n) => n.startsWith('adam')), names.join());
  await page.fill('#tag-filter', '^acc');
  await until(() => document.querySelectorAll('article.card').length === 1);
  assert.match(page.url(), /tags=%5Eacc/);
  await page.fill('#run-filter', '(');
  await until(() => document.getElementById('run-error').textContent !== '');
});

await test('a restart is dashed', async () => {
  await open('tags=^loss$&runs=lr3e-3/train');
  await until(() => document.querySelector('article.card .note').textContent.includes('restart'));
});

await test('a running training appears by itself', async () => {
  await open('tags=^live$|^exact&runs=live|exact');
  const live = new EventFile(path.join(folder, 'live'), kStart + 100);
  const last = [];
  for (let round = 0; round < 3; ++round) {
    for (let i = 0; i < 10; ++i) live.summary(kStart + 100 + last.length, last.length, scalar('live', (last.push(last.length * 2), last.at(-1))));
    live.flush();
    await until((value) => document.querySelector('article.card[data-tag="live"] .values tr')?.dataset.last === String(value), last.at(-1), {timeout: 10000});
  }
});

await test('the link keeps the state', async () => {
  await open('tags=^loss$&smooth=0.9&logy=1&x=relative&theme=dark');
  assert.equal(await page.inputValue('#smooth'), '0.9');
  assert.ok(await page.isChecked('#logy'));
  assert.equal(await page.inputValue('#x-axis'), 'relative');
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
});

const pages = [
  ['hparams', 'tab=hparams&runs=lr', async () => {
    await page.waitForSelector('#hparams tbody tr');
    assert.equal(await page.locator('#hparams tbody tr').count(), 5);
    await page.fill('#tag-filter', 'learning_rate < 0.005');
    await until(() => document.querySelectorAll('#hparams tbody tr').length === 2);
    await page.fill('#tag-filter', '');
    await page.locator('th[data-column="hparam:learning_rate"] button').first().click();
    await until(() => document.querySelector('#hparams tbody tr').dataset.run === 'adam_lr1e-3');
  }],
  ['histograms', 'tab=histograms&runs=adam', () => page.waitForSelector('article.card[data-rows]')],
  ['images', 'tab=images&runs=adam', () => until(() => [...document.querySelectorAll('img.picture')].some((i) => i.naturalWidth === 28))],
  ['text', 'tab=text', () => page.waitForSelector('.markdown b')],
  ['pr_curves', 'tab=pr_curves', () => page.waitForSelector('article.card .plot[data-points]:not([data-points="0"])')],
  ['graph', 'tab=graph', async () => {
    await page.waitForSelector('.box.compute');
    assert.equal(await page.locator('.box[data-path="dense/MatMul"]').count(), 1);
    // All of the width is in view.
    assert.ok(await page.evaluate(() => { const view = document.querySelector('svg.graph').getBoundingClientRect();
      return [...document.querySelectorAll('.box')].every((b) => { const r = b.getBoundingClientRect(); return r.left >= view.left - 1 && r.right <= view.right + 1; }); }));
    await page.getByRole('button', {name: 'Fit'}).click();
    await page.locator('.box[data-path="dense/MatMul"]').click();
    await until(() => document.querySelector('.details h3')?.textContent === 'dense/MatMul');
    await page.locator('.box[data-path="dense"]').focus();
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('.box[data-path="dense/MatMul"]').count(), 0);
  }],
  ['runs', 'tab=runs', async () => {
    await page.waitForSelector('table.runs tbody tr');
    assert.equal(await page.locator('tr[data-run="adam_lr1e-3/train"] .badge').textContent(), 'finished');
  }],
];
for (const [name, hash, body] of pages) {
  await test(`page ${name}`, async () => {
    await page.goto('about:blank');
    await page.goto(`${board.url}#${hash}`);
    await body();
    await page.waitForTimeout(200);
    await page.screenshot({path: path.join(results, `${name}.png`)});
  });
}

await test('the timeline finds the event under the pointer and keeps up', async () => {
  await page.goto('about:blank');
  await page.goto(`${board.url}#tab=profile&tool=host.trace.json.gz`);
  await page.waitForSelector('.trace[data-drawn]', {timeout: 20000});
  await page.fill('#tag-filter', 'step 7000');
  await page.getByRole('button', {name: 'Next'}).click();
  await until(() => document.querySelector('.trace-details h3')?.textContent === 'step 7000');
  const canvas = page.locator('.trace canvas'), box = await canvas.boundingBox();
  await canvas.click({position: {x: (190 + box.width - 4) / 2, y: 24 + 20 + 8}});
  assert.equal(await page.locator('.trace-details h3').textContent(), 'step 7000');
  await page.fill('#tag-filter', '');
  await canvas.focus();
  await page.keyboard.press('0');
  const milliseconds = await page.evaluate(() => new Promise((resolve) => {
    const canvas = document.querySelector('.trace canvas');
    const times = [];
    const step = (now) => {
      times.push(now);
      if (times.length > 40) return resolve((times.at(-1) - times[0]) / 40);
      canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: times.length < 20 ? -100 : 100, clientX: 700, clientY: 300, cancelable: true}));
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }));
  console.log(`     ${milliseconds.toFixed(1)} ms a frame of 200,000 events`);
  assert.ok(milliseconds > 0);
  await page.screenshot({path: path.join(results, 'timeline.png')});
});

await test('operations open and show their details', async () => {
  await page.goto('about:blank');
  await page.goto(`${board.url}#tab=profile&tool=host.op_profile.json`);
  await page.getByRole('button', {name: 'convolution', exact: true}).click();
  await page.locator('tr[data-node="convolution.3"]').click();
  await until(() => document.querySelector('.trace-details h3')?.textContent === 'convolution.3');
  await page.screenshot({path: path.join(results, 'operations.png')});
});

await test('the roofline names the operation under the pointer', async () => {
  await page.goto('about:blank');
  await page.goto(`${board.url}#tab=profile&tool=host.systole.json`);
  await page.waitForSelector('.profile table.data tbody tr');
  assert.equal(await page.locator('.profile table.data tbody tr').count(), 3);
  const named = await page.evaluate(() => {
    const canvas = document.querySelector('.profile .plot canvas'), note = document.querySelector('.profile [role="status"]');
    const box = canvas.getBoundingClientRect(), names = new Set();
    for (let x = 0; x < box.width; x += 6) for (let y = 0; y < box.height; y += 6) {
      canvas.dispatchEvent(new PointerEvent('pointermove', {clientX: box.x + x, clientY: box.y + y}));
      names.add(note.textContent.split(' ')[0]);
    }
    return [...names].sort();
  });
  assert.deepEqual(named, ['Point', 'convolution.1', 'dot.5', 'fusion.2']);
  await page.screenshot({path: path.join(results, 'roofline.png')});
});

await test('cores of a pod have a bar each', async () => {
  await page.goto('about:blank');
  await page.goto(`${board.url}#tab=profile&tool=host.pod_viewer.json`);
  await page.waitForSelector('.cores .stack');
  assert.equal(await page.locator('.cores .stack').count(), 3);
  assert.match(await page.locator('.cores .stack').first().getAttribute('aria-label'), /^core 0: large products 54 %, all-reduce 18 %/);
  await page.screenshot({path: path.join(results, 'cores.png')});
});

await test('arrays that share memory count once', async () => {
  await page.goto('about:blank');
  await page.goto(`${board.url}#tab=profile&tool=host.memory_viewer.json`);
  await page.waitForSelector('.profile table.data tbody tr');
  assert.deepEqual(await page.locator('.figure b').allTextContents(), ['9 kB', '5 kB', '4 kB', '4', '5 kB']);
  const rows = await page.locator('.profile tbody tr').evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(rows[0], ['parameter.0', 'f32[250,3]', 'model/parameter.0', 'model.cc:12', '', '5 kB']);
  assert.deepEqual(rows.filter((row) => row[4] === 'yes').map((row) => row[0]), ['fusion.2', 'fusion.3']);
});

// The page of the profile that a command of systole has just written.
async function openWrittenPage(suffix, ...command) {
  execFileSync(systole, [...command, '--logdir', folder]);
  const found = findProfile(folder, suffix);
  await page.goto('about:blank');
  await page.goto(`${board.url}#tab=profile&profile=${found.profile}&tool=${found.file}`);
  return JSON.parse(fs.readFileSync(found.path, 'utf8'));
}

await test('a prediction shows the time of a step', async () => {
  const written = await openWrittenPage('.prediction.json', 'check', iris, '--predict', 'v2-8');
  await until(() => document.querySelector('.statement')?.textContent.startsWith('A step on v2-8 takes'), undefined, {timeout: 20000});
  assert.equal(await page.locator('.profile table.data tbody tr').count(), written.ops.length);
  await page.screenshot({path: path.join(results, 'prediction.png')});
});

await test('the counters of a TPU v1 add up', async () => {
  const written = await openWrittenPage('.tpu_v1.json', 'tpu-v1', 'profile', 'MLP0-R', 'CNN0-R');
  await page.waitForSelector('.cores .stack', {timeout: 20000});
  for (const p of written.programs) assert.ok(Math.abs(p.active + p.weight_stall + p.weight_shift + p.non_matrix - p.cycles) < 1e-6 * p.cycles);
  assert.equal(await page.locator('.cores .stack').count(), 2);
  await until(() => document.querySelector('img.wave')?.naturalWidth > 0);
  await page.screenshot({path: path.join(results, 'tpu_v1.png'), fullPage: true});
});

// Configurations as `systole train` writes them, 500 tags, a text with a table, a curve over a part of the recalls.
async function onPlainRuns(body) {
  const plain = temporaryFolder();
  writePlainRuns(plain);
  const other = await startBoard(systole, plain);
  try {
    await body(async (hash, selector) => {
      await page.goto('about:blank');
      await page.goto(`${other.url}#${hash}`);
      await page.waitForSelector(selector, {timeout: 20000});
    });
  } finally {
    await page.goto('about:blank');  // it asks for news
    await other.stop();
    fs.rmSync(plain, {recursive: true, force: true});
  }
}
const columns = () => page.locator('#hparams thead th').evaluateAll((all) => all.map((th) => th.dataset.column));

await test('runs of configuration files compare', () => onPlainRuns(async (visit) => {
  await visit(`tab=hparams&cols=${encodeURIComponent('"accuracy","loss"')}`, '#hparams tbody tr');
  // Metrics first; what all runs share is folded away; the metric and the hyperparameter `loss` are two columns.
  assert.deepEqual(await columns(), ['run', 'metric:accuracy', 'metric:loss', 'hparam:optimizer.AdamOptimizer.learning_rate']);
  assert.match(await page.locator('#hparams tbody tr').first().locator('td').nth(1).textContent(), /^0\.\d+$/);
  for (const [text, rows] of [['learning_rate < 0.01', 2], ['learning_rate < 0.01 and adam', 2], ['loss < 0.25', 1], ['', 3]]) {
    await page.fill('#tag-filter', text);
    await until((n) => document.querySelectorAll('#hparams tbody tr').length === n, rows);
  }
  await page.fill('#tag-filter', 'laerning_rate < 1');
  await until(() => document.querySelector('.toolbar .note').textContent === "no column 'laerning_rate'");
  await page.fill('#tag-filter', '');
  await page.click('#folded');
  await until(() => document.querySelectorAll('#hparams thead th').length > 10);
  assert.ok((await columns()).includes('hparam:loss'));
  await page.click('#folded');
  await page.getByRole('button', {name: 'Pin optimizer.AdamOptimizer.learning_rate'}).click();
  await page.getByRole('button', {name: 'Hide accuracy'}).click();
  await until(() => document.querySelectorAll('#hparams thead th').length === 3);
  assert.deepEqual(await columns(), ['run', 'hparam:optimizer.AdamOptimizer.learning_rate', 'metric:loss']);
  await page.click('#hidden-columns');
  await until(() => document.querySelectorAll('#hparams thead th').length === 4);
}));

await test('groups that a filter leaves are open', () => onPlainRuns(async (visit) => {
  await visit('tab=scalars', '.group-title');
  const open = () => page.locator('.group-title[aria-expanded="true"]').count();
  const all = await page.locator('.group-title').count();
  assert.ok(await open() > 0 && await open() < all, `${await open()} of ${all} groups are open`);
  await page.fill('#tag-filter', 'group_19/tag_3$');
  await page.waitForSelector('article.card[data-tag="group_19/tag_3"] .plot[data-points]:not([data-points="0"])');
  assert.equal(await open(), 1);
  // A colour of one's own, in the address.
  await page.locator('li[data-run="b"] input.color').evaluate((input) => { input.value = '#123456'; input.dispatchEvent(new Event('change')); });
  await until(() => location.hash.includes('123456'));
  await page.waitForSelector('article.card .swatch[style*="rgb(18, 52, 86)"]');
}));

await test('tables of texts keep to their card', () => onPlainRuns(async (visit) => {
  for (const width of [1440, 390]) {
    await page.setViewportSize({width, height: 900});
    await visit('tab=text', '.markdown table');
    const over = await page.evaluate(() => [...document.querySelectorAll('article.card')].some((card) => [...card.querySelectorAll('td, th, p')].some((cell) => cell.getBoundingClientRect().right > card.getBoundingClientRect().right + 1)));
    assert.ok(!over, `a text leaves its card at ${width} px`);
    const [head, first] = await page.evaluate(() => ['thead', 'tbody'].map((part) => document.querySelector(`.markdown ${part} tr`).getBoundingClientRect()).map((r) => [r.top, r.bottom]));
    assert.ok(head[1] <= first[0] + 1, 'the head covers the first row');
  }
  assert.equal(await page.locator('.markdown a').getAttribute('href'), 'https://example.com/a');
  await page.setViewportSize({width: 1280, height: 820});
}));

await test('axes of PR curves are 0 to 1', () => onPlainRuns(async (visit) => {
  await visit('tab=pr_curves', 'article.card .plot[data-points]:not([data-points="0"])');
  assert.match(await page.locator('article.card p.note').textContent(), /area 0\.\d+ for recalls of 0\.4 to 1/);
}));

await test('small screens do not scroll sideways', async () => {
  await page.setViewportSize({width: 390, height: 800});
  await open('tags=^loss$');
  const fits = async (selector) => {
    const [inner, outer] = await page.evaluate((s) => [document.querySelector(s).scrollWidth, document.querySelector(s).clientWidth], selector);
    assert.ok(inner <= outer, `${selector}: ${inner} > ${outer}`);
  };
  await fits('html');
  await page.screenshot({path: path.join(results, 'small.png')});
  await page.goto('about:blank');
  await page.goto(`${board.url}#tab=profile&tool=host.pod_viewer.json`);
  await page.waitForSelector('.cores .stack');
  await fits('#main-content');
});

await test('no console error, no foreign request', () => assert.deepEqual(problems, []));

await close();
await board.stop();
fs.rmSync(folder, {recursive: true});
console.log(`${passed} passed${process.exitCode ? ', some failed' : ''}`);
