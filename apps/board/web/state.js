// The state of the page lives in the address, so that a link shows the same.

const kDefaults = {
  tab: '', tags: '', runs: '', off: '', only: '', smooth: '0.6', x: 'step', logx: '', logy: '',
  outliers: '', card: '', zoom: '', theme: '', run: '', node: '', sort: '', cols: '', profile: '', tool: '', q: '', pin: '', hide: '', same: '', colors: '',
};

class State extends EventTarget {
  constructor() {
    super();
    this.values = {...kDefaults};
    this.read();
    window.addEventListener('hashchange', () => {
      if (this.text() === location.hash.slice(1)) return;
      this.read();
      this.dispatchEvent(new Event('change'));
    });
  }

  read() {
    this.values = {...kDefaults};
    const params = new URLSearchParams(location.hash.slice(1));
    for (const [name, value] of params) if (name in kDefaults) this.values[name] = value;
  }

  text() {
    const params = new URLSearchParams();
    for (const [name, value] of Object.entries(this.values)) if (value !== kDefaults[name]) params.set(name, value);
    return params.toString();
  }

  get(name) { return this.values[name]; }
  number(name) { return Number(this.values[name]) || 0; }
  flag(name) { return this.values[name] === '1'; }
  list(name) { return this.values[name] ? JSON.parse(`[${this.values[name]}]`) : []; }

  // Sets values and tells listeners, unless nothing changes. Lists are arrays of strings.
  set(changes, {silent = false} = {}) {
    let changed = false;
    for (const [name, given] of Object.entries(changes)) {
      const value = Array.isArray(given) ? given.map((v) => JSON.stringify(v)).join(',')
        : typeof given === 'boolean' ? (given ? '1' : '') : String(given);
      if (this.values[name] !== value) { this.values[name] = value; changed = true; }
    }
    if (!changed) return;
    history.replaceState(null, '', `#${this.text()}`);
    if (!silent) this.dispatchEvent(new Event('change'));
  }
}

export const state = new State();
