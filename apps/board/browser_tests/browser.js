// Starts `systole board` and a headless Chromium for tests and pictures.
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import os from 'node:os';
import path from 'node:path';

const kBrowsers = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
export const kSkipped = 77;  // what ctest calls skipped

// Ends the process as skipped, with the reason.
function skip(reason) {
  console.log(`skipped: ${reason}`);
  process.exit(kSkipped);
}

// Finds playwright-core in a node_modules folder, and the browser. Skips if one is missing.
export function findBrowser(modules) {
  const browser = process.env.SYSTOLE_CHROMIUM || kBrowsers.find((p) => fs.existsSync(p));
  if (!browser || !fs.existsSync(browser)) skip('no Chromium: install the Debian package chromium-headless-shell');
  let playwright;
  try {
    playwright = createRequire(path.resolve(modules, 'x.js'))('playwright-core');
  } catch {
    skip(`no playwright-core in ${modules}: run tools/install-npm.sh`);
  }
  return {chromium: playwright.chromium, browser};
}

export function temporaryFolder() { return fs.mkdtempSync(path.join(os.tmpdir(), 'systole_board.')); }

// Returns {profile, file, path} of the file in a log directory's profiles whose name ends so.
export function findProfile(logdir, suffix) {
  const profiles = path.join(logdir, 'plugins', 'profile');
  for (const profile of fs.readdirSync(profiles)) {
    const file = fs.readdirSync(path.join(profiles, profile)).find((name) => name.endsWith(suffix));
    if (file) return {profile, file, path: path.join(profiles, profile, file)};
  }
  throw new Error(`no file *${suffix} below ${profiles}`);
}

// Starts the server; returns {url, stop()}.
export async function startBoard(systole, logdir, ...options) {
  const child = spawn(systole, ['board', logdir, '--port', '0', '--reload-seconds', '0.2', ...options], {stdio: ['ignore', 'pipe', 'inherit']});
  const url = await new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (data) => {
      text += data;
      const found = /http:\/\/\S+/.exec(text);
      if (found) resolve(found[0]);
    });
    child.on('exit', (code) => reject(new Error(`systole board ended with ${code}: ${text}`)));
  });
  return {url, stop: () => new Promise((resolve) => { child.removeAllListeners('exit'); child.on('exit', resolve); child.kill('SIGTERM'); })};
}

// Opens a page that records console errors and requests to other hosts.
export async function openPage({chromium, browser}, options = {}) {
  const launched = await chromium.launch({executablePath: browser, args: ['--disable-gpu', ...(process.getuid() === 0 ? ['--no-sandbox'] : [])]});
  const context = await launched.newContext({viewport: {width: 1280, height: 820}, ...options});
  const page = await context.newPage();
  const problems = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) problems.push(`console: ${message.text()}`); });
  page.on('pageerror', (error) => problems.push(`page: ${error.stack}`));
  page.on('request', (request) => {
    if (!/^(http:\/\/(127\.0\.0\.1|localhost)[:/]|data:|blob:)/.test(request.url())) problems.push(`foreign request: ${request.url()}`);
  });
  return {page, problems, close: () => launched.close()};
}
