// Takes the pictures of docs/board.md: node pictures.js SYSTOLE NODE_MODULES FOLDER.
import fs from 'node:fs';
import path from 'node:path';
import {findBrowser, openPage, startBoard, temporaryFolder} from './browser.js';
import {writeSampleRuns} from './sample_runs.js';

const [systole, modules, folder] = process.argv.slice(2);
const tools = findBrowser(modules);
const logdir = temporaryFolder();
writeSampleRuns(logdir);
const board = await startBoard(systole, logdir);
const {page, close} = await openPage(tools, {viewport: {width: 1180, height: 640}});

async function picture(name, hash, ready, before = async () => {}) {
  await page.goto('about:blank');
  await page.goto(`${board.url}#${hash}`);
  await page.waitForSelector(ready);
  await before();
  await page.waitForTimeout(400);
  await page.screenshot({path: path.join(folder, `board_${name}.png`)});
}

const drawn = 'article.card .plot[data-points]:not([data-points="0"])';
await picture('scalars', 'tags=^(loss|accuracy)$&runs=train&smooth=0.8', drawn, async () => {
  const box = await page.locator('article.card[data-tag="loss"] canvas').boundingBox();
  await page.mouse.move(box.x + 150, box.y + 90);
});
await picture('compare', 'tab=hparams&sort=loss (train)&theme=dark', '#hparams tbody tr');
await picture('histograms', 'tab=histograms&runs=adam_lr1e-3', 'article.card[data-rows]', async () => {
  await page.getByRole('button', {name: 'Shapes'}).click();
});
await picture('graph', 'tab=graph', '.box.compute', () => page.locator('.box[data-path="conv2/Conv2D"]').click());
await close();
await board.stop();
fs.rmSync(logdir, {recursive: true});
