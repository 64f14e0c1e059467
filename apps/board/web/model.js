// Runs and tags as the server knows them, asked for again while the page is visible.
import {getJson} from './api.js';
import {compileFilter} from './format.js';
import {state} from './state.js';

const kPollMs = 1500;
export const kMaxDrawnRuns = 60;

class Model extends EventTarget {
  index = null;      // the last answer of /api/index
  error = '';
  runs = [];         // {id, name, ...}
  timer = 0;

  async poll() {
    clearTimeout(this.timer);
    try {
      const since = this.index ? {since: this.index.generation} : {};
      const answer = await getJson('api/index', since);
      const restarted = this.index && this.index.instance !== answer.instance;
      const hadError = this.error !== '';
      this.error = '';
      if (restarted) { location.reload(); return; }
      if (answer.unchanged) {
        Object.assign(this.index, {bytes_read: answer.bytes_read, bytes_total: answer.bytes_total, ready: answer.ready});
        this.dispatchEvent(new Event('status'));
      } else {
        this.index = answer;
        this.runs = answer.run_list.map((run, id) => ({...run, id}));
        this.dispatchEvent(new Event('status'));
        this.dispatchEvent(new Event('change'));
      }
      if (hadError) this.dispatchEvent(new Event('status'));
    } catch (error) {
      this.error = error instanceof TypeError ? 'The server does not answer.' : error.message;
      this.dispatchEvent(new Event('status'));
    }
    const wait = !this.index || this.index.ready ? kPollMs : 400;
    if (!document.hidden) this.timer = setTimeout(() => this.poll(), wait);
  }

  start() {
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.poll(); });
    return this.poll();
  }

  // Returns the tags of a kind: [{name, ranges}].
  tags(kind) {
    return (this.index?.tags[kind] || []).map(([name, ranges]) => ({name, ranges}));
  }

  hasTags(kind) { return (this.index?.tags[kind] || []).length > 0; }

  // Returns the runs that the filter lets through.
  filteredRuns() {
    const filter = compileFilter(state.get('runs'));
    return this.runs.filter((run) => filter.test(run.name));
  }

  // Returns the runs to draw: filtered, and not switched off.
  shownRuns() {
    const off = new Set(state.list('off'));
    const only = state.list('only');
    const chosen = only.length ? new Set(only) : null;
    return this.filteredRuns().filter((run) => (chosen ? chosen.has(run.name) : !off.has(run.name)));
  }

  // Returns those of `runs` that have a tag with these ranges.
  withTag(runs, ranges) {
    return runs.filter((run) => {
      for (let i = 0; i < ranges.length; i += 2) if (run.id >= ranges[i] && run.id < ranges[i + 1]) return true;
      return false;
    });
  }
}

export const model = new Model();
