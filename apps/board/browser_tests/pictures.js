// Takes the pictures of docs/board.md and docs/profiling.md: node pictures.js SYSTOLE NODE_MODULES FOLDER. The profile is of
// examples/configs/mnist.yaml, whose data must be where the file says.
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {findBrowser, findProfile, openPage, startBoard, temporaryFolder} from './browser.js';
import {writeSampleRuns} from './sample_runs.js';

const [systole, modules, folder] = process.argv.slice(2);
const tools = findBrowser(modules);
const logdir = temporaryFolder();
writeSampleRuns(logdir);
const mnist = new URL('../../../examples/configs/mnist.yaml', import.meta.url).pathname;
const onEightCores = ['estimator.train_batch_size=256', 'run_config.tpu_config.num_shards=8', 'run_config.tpu_config.iterations_per_loop=10'].flatMap((text) => ['--set', text]);
for (const command of [['profile', mnist, ...onEightCores, '--model_dir', path.join(logdir, 'mnist'), '--start', '10', '--steps', '40'],
  ['check', mnist, ...onEightCores, '--predict', 'v2-8'], ['tpu-v1', 'profile', 'MLP0-R', 'LSTM0-R', 'CNN0-R', 'CNN1-R']]) {
  execFileSync(systole, [...command, '--logdir', logdir]);
}
const board = await startBoard(systole, logdir);
const {page, close} = await openPage(tools, {viewport: {width: 1180, height: 640}});

async function picture(name, hash, ready, before = async () => {}) {
  await page.goto('about:blank');
  await page.goto(`${board.url}#${hash}`);
  await page.waitForSelector(ready);
  await before();
  await page.waitForTimeout(400);
  await page.screenshot({path: path.join(folder, `${name}.png`)});
}

// A page of a profile, without the list of runs.
async function profilePicture(name, suffix, height, ready, before = async () => {}) {
  const {profile, file} = findProfile(logdir, suffix);
  await page.setViewportSize({width: 1180, height});
  await picture(`profile_${name}`, `tab=profile&profile=${profile}&tool=${file}`, ready, async () => {
    await page.keyboard.press('m');
    await before();
  });
}

const drawn = 'article.card .plot[data-points]:not([data-points="0"])';
await picture('board_scalars', 'tags=^(loss|accuracy)$&runs=train&smooth=0.8', drawn, async () => {
  const box = await page.locator('article.card[data-tag="loss"] canvas').boundingBox();
  await page.mouse.move(box.x + 150, box.y + 90);
});
await picture('board_compare', 'tab=hparams&sort=loss (train)&theme=dark', '#hparams tbody tr');
await picture('board_histograms', 'tab=histograms&runs=adam_lr1e-3', 'article.card[data-rows]', async () => {
  await page.getByRole('button', {name: 'Shapes'}).click();
});
await picture('board_graph', 'tab=graph', '.box.compute', () => page.locator('.box[data-path="conv2/Conv2D"]').click());

await profilePicture('overview', '.overview_page.json', 840, '.profile .plot canvas');
await profilePicture('timeline', '.trace.json.gz', 720, '.trace[data-drawn]', async () => {
  const canvas = page.locator('.trace canvas');
  await canvas.focus();
  for (let i = 0; i < 7; ++i) await page.keyboard.press('w');
  for (let x = 600; x < 1100 && await page.locator('.trace-details tr').count() === 0; x += 20) await canvas.click({position: {x, y: 96}});
});
await profilePicture('operations', '.op_profile.json', 640, '.profile tr[data-node]', async () => {
  await page.getByRole('button', {name: 'convolution', exact: true}).click();
});
await profilePicture('input', '.input_pipeline.json', 900, '.profile table.data tbody tr');
await profilePicture('memory', '.memory_viewer.json', 760, '.profile table.data tbody tr');
await profilePicture('roofline', '.systole.json', 860, '.profile table.data tbody tr');
await profilePicture('cores', '.pod_viewer.json', 740, '.cores .stack');
await profilePicture('prediction', '.prediction.json', 640, '.profile table.data tbody tr');
await profilePicture('tpu_v1', '.tpu_v1.json', 1000, '.cores .stack');
await close();
await board.stop();
fs.rmSync(logdir, {recursive: true});
