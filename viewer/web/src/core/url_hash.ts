// The view as a URL fragment and back, so that a link shows the same place.
// Pure. The valid parts of a wrong fragment are used, the rest is ignored.

export interface SavedView {
  from?: number;
  to?: number;
  y?: number;
  t?: number;
  selection?: [number, number];
  compared?: [number, number]; // the range that the selection is compared with
  event?: number;
  cpu?: number;
  speed?: number;
  opened?: number[]; // processes
  closed?: number[];
  shown?: number[]; // processes that do not fold
  allThreads?: number[]; // processes whose idle threads are shown
  unfolded?: number; // pages of processes that fold by themselves
  handlers?: boolean; // of interrupts, under the CPUs
  pinned?: number[]; // processes
  hidden?: number[];
  rare?: number[]; // hooks among the rare events
  item?: {row: number; from: number; to: number}; // clicked
  process?: number; // highlighted
  thread?: number; // whose samples the table of functions has
  focus?: string; // the lane with the focus
  filter?: string;
  tab?: string;
  steps?: string; // what a step is
  follow?: string;
  loop?: boolean;
  skipIdle?: boolean;
  byEvents?: boolean;
  safePalette?: boolean;
}

const MOST_PAGES = 50;
const MOST_TOGGLED = 200; // of a list: an address has a limit

type List = 'opened'|'closed'|'shown'|'allThreads'|'pinned'|'hidden'|'rare';
const LISTS: Partial<Record<string, List>> =
    {open: 'opened', close: 'closed', show: 'shown', idle: 'allThreads', pin: 'pinned', hide: 'hidden', rare: 'rare'};

// Only letters and digits, so nothing has to be escaped.
const WORDS: Partial<Record<string, 'tab'|'steps'|'follow'>> = {tab: 'tab', step: 'steps', follow: 'follow'};

export function encodeHash(view: SavedView): string {
  const parts: string[] = [];
  const add = (name: string, value: number|undefined, digits = 0): void => {
    if (value !== undefined) parts.push(`${name}=${Number(value.toFixed(digits))}`);
  };
  add('from', view.from, 2);
  add('to', view.to, 2);
  add('y', view.y);
  add('t', view.t);
  if (view.selection) parts.push(`sel=${view.selection.map(Math.round).join('-')}`);
  if (view.compared) parts.push(`cmp=${view.compared.map(Math.round).join('-')}`);
  if (view.item) parts.push(`item=${view.item.row}-${view.item.from}-${view.item.to}`);
  add('event', view.event);
  add('cpu', view.cpu);
  add('speed', view.speed, 2);
  add('process', view.process);
  add('thread', view.thread);
  const list = (name: string, numbers: number[]|undefined): void => {
    if (numbers && numbers.length > 0) parts.push(`${name}=${numbers.slice(0, MOST_TOGGLED).join('-')}`);
  };
  list('open', view.opened);
  list('close', view.closed);
  list('show', view.shown);
  list('idle', view.allThreads);
  list('pin', view.pinned);
  list('hide', view.hidden);
  list('rare', view.rare);
  for (const [name, field] of Object.entries(WORDS)) {
    const word = field && view[field];
    if (word && /^[a-z\d]+$/.test(word)) parts.push(`${name}=${word}`);
  }
  if (view.loop) parts.push('loop=1');
  if (view.skipIdle) parts.push('skip=1');
  if (view.byEvents) parts.push('events=1');
  if (view.safePalette) parts.push('safe=1');
  if (view.unfolded) parts.push(`all=${view.unfolded}`);
  if (view.handlers) parts.push('irq=1');
  if (view.focus !== undefined) parts.push(`row=${view.focus}`);
  if (view.filter !== undefined) parts.push(`where=${encodeURIComponent(view.filter)}`);
  return `#${parts.join('&')}`;
}

export function decodeHash(hash: string): SavedView {
  const view: SavedView = {};
  for (const part of hash.replace(/^#/, '').split('&')) {
    const equals = part.indexOf('=');
    if (equals < 0) continue;
    const name = part.slice(0, equals);
    const text = part.slice(equals + 1);
    if (name === 'sel' || name === 'cmp') {
      const match = /^(\d+)-(\d+)$/.exec(text);
      const a = Number(match?.[1]);
      const b = Number(match?.[2]);
      if (match && a < b) view[name === 'sel' ? 'selection' : 'compared'] = [a, b];
      continue;
    }
    if (name === 'item') {
      const [row, from, to] = /^\d+-\d+-\d+$/.test(text) ? text.split('-').map(Number) : [];
      if (row !== undefined && from !== undefined && to !== undefined && from <= to) view.item = {row, from, to};
      continue;
    }
    if (name === 'row') {
      if (/^[a-z]+\d*$/.test(text)) view.focus = text;
      continue;
    }
    if (name === 'where') {
      try {
        view.filter = decodeURIComponent(text);
      } catch {
        // Not a text.
      }
      continue;
    }
    const list = Object.hasOwn(LISTS, name) ? LISTS[name] : undefined;
    if (list) {
      if (/^\d+(-\d+)*$/.test(text)) view[list] = text.split('-').slice(0, MOST_TOGGLED).map(Number);
      continue;
    }
    const word = Object.hasOwn(WORDS, name) ? WORDS[name] : undefined;
    if (word) {
      if (/^[a-z\d]{1,40}$/.test(text)) view[word] = text;
      continue;
    }
    const value = Number(text);
    if (text === '' || !Number.isFinite(value)) continue;
    switch (name) {
      case 'from': view.from = value; break;
      case 'to': view.to = value; break;
      case 'y': view.y = Math.max(0, value); break;
      case 't': view.t = Math.max(0, value); break;
      case 'event': view.event = Math.max(0, Math.floor(value)); break;
      case 'cpu': view.cpu = Math.max(-1, Math.floor(value)); break;
      case 'thread': view.thread = Math.max(0, Math.floor(value)); break;
      case 'process': view.process = Math.max(0, Math.floor(value)); break;
      case 'speed': view.speed = value; break;
      case 'loop': view.loop = value === 1; break;
      case 'skip': view.skipIdle = value === 1; break;
      case 'events': view.byEvents = value === 1; break;
      case 'safe': view.safePalette = value === 1; break;
      case 'all': view.unfolded = Math.min(Math.max(0, Math.floor(value)), MOST_PAGES); break;
      case 'irq': view.handlers = value === 1; break;
      default: break;
    }
  }
  if (view.from !== undefined && view.to !== undefined && view.from >= view.to) {
    delete view.from;
    delete view.to;
  }
  return view;
}
