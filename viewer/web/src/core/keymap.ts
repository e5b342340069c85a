// Keys to commands, by position on the keyboard (event.code), so that W/A/S/D
// lie together on every layout. Pure.

export interface Command {
  id: string;
  keys: string; // as shown in the help
  says: string;
}

export const COMMANDS: readonly Command[] = [
  {id: 'zoom-in', keys: 'W', says: 'zoom in at the pointer (also Ctrl + wheel)'},
  {id: 'zoom-out', keys: 'S', says: 'zoom out'},
  {id: 'pan-left', keys: 'A', says: 'pan left (also Shift + drag)'},
  {id: 'pan-right', keys: 'D', says: 'pan right'},
  {id: 'row-up', keys: '\u2191', says: 'to the row above (the wheel scrolls)'},
  {id: 'row-down', keys: '\u2193', says: 'to the row below'},
  {id: 'row-first', keys: 'Alt Home', says: 'to the first row'},
  {id: 'row-last', keys: 'Alt End', says: 'to the last row'},
  {id: 'row-toggle', keys: 'Enter', says: 'open or close the row, show what folded'},
  {id: 'lift', keys: 'Alt \u2191', says: 'move the process up (also drag its name)'},
  {id: 'lower', keys: 'Alt \u2193', says: 'move the process down'},
  {id: 'rank-rows', keys: 'R', says: 'order the rows anew, by CPU time in view'},
  {id: 'fit', keys: '0', says: 'show the whole trace'},
  {id: 'frame', keys: 'F', says: 'centre the selected item, wait or range; again: fit it; if there is none, centre the playhead'},
  {id: 'play', keys: 'Space', says: 'play, pause'},
  {id: 'play-back', keys: 'Shift Space', says: 'play backwards'},
  {id: 'reverse', keys: 'J', says: 'play backwards; again: faster'},
  {id: 'pause', keys: 'K', says: 'pause'},
  {id: 'forward', keys: 'L', says: 'play; again: faster'},
  {id: 'next', keys: '.', says: 'step forward, in the focused row'},
  {id: 'previous', keys: ',', says: 'step back, in the focused row'},
  {id: 'next-machine', keys: 'Shift .', says: 'step forward, on the whole machine'},
  {id: 'previous-machine', keys: 'Shift ,', says: 'step back, on the whole machine'},
  {id: 'step-kind', keys: 'T', says: 'what a step is: boundary, record, hook, segment, dispatch, interrupt, loss'},
  {id: 'by-events', keys: 'E', says: 'play from step to step, or by time'},
  {id: 'follow', keys: 'Y', says: 'the window follows by pages, keeps the playhead in its centre, or stays'},
  {id: 'slower', keys: '\u2212', says: 'play slower'},
  {id: 'faster', keys: '=', says: 'play faster'},
  {id: 'start', keys: 'Home', says: 'playhead to the start'},
  {id: 'end', keys: 'End', says: 'playhead to the end'},
  {id: 'select-left', keys: 'Shift \u2190', says: 'extend the selection from the playhead to the left'},
  {id: 'select-right', keys: 'Shift \u2192', says: 'extend the selection to the right'},
  {id: 'nudge-left', keys: '\u2190', says: 'move the playhead left'},
  {id: 'nudge-right', keys: '\u2192', says: 'move the playhead right'},
  {id: 'pin', keys: 'P', says: 'pin the process under the pointer, or of the row, to the top'},
  {id: 'hide', keys: 'H', says: 'hide that process'},
  {id: 'note', keys: 'M', says: 'write a note at the playhead, kept with the trace'},
  {id: 'marker-a', keys: '[', says: 'marker A to the playhead; again: no marker'},
  {id: 'marker-b', keys: ']', says: 'marker B to the playhead; the panel has their difference'},
  {id: 'compare', keys: 'C', says: 'compare the selection with what is selected next; without a selection: no more'},
  {id: 'loop', keys: 'O', says: 'loop inside the selection'},
  {id: 'skip-idle', keys: 'I', says: 'leave out time in which all CPUs are idle'},
  {id: 'panel', keys: 'Q', says: 'show or hide the tables'},
  {id: 'request', keys: 'G', says: 'go to the request with an id (view --join)'},
  {id: 'source', keys: 'Shift G', says: 'the code of the open segments, in place of the tables (view --source DIR)'},
  {id: 'functions', keys: 'U', says: 'the table of functions, from samples; Enter shows the code of one, Esc the table again'},
  {id: 'stacks', keys: 'V', says: 'sampled stacks as a flame in time, under their threads; zoomed in'},
  {id: 'query', keys: 'Shift Q', says: 'ask the trace in SQL, as by countrace query'},
  {id: 'picture', keys: 'Shift P', says: 'save a picture of the timeline (PNG)'},
  {id: 'drawing', keys: 'Shift V', says: 'save it as a drawing (SVG)'},
  {id: 'palette', keys: 'Shift X', says: 'safe palette: colours that differ under colour blindness'},
  {id: 'theme', keys: 'Shift D', says: 'light or dark'},
  {id: 'find', keys: '/', says: 'find a process, a thread, a segment or a hook'},
  {id: 'commands', keys: '/ >', says: 'a command by its name'},
  {id: 'filter', keys: ':', says: 'only rows for which a condition holds, as report --where'},
  {id: 'clear', keys: 'Esc', says: 'clear the selection and the highlight'},
  {id: 'help', keys: '?', says: 'this list'},
];

interface Key {
  code: string;
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

const PLAIN: Record<string, string> = {
  KeyW: 'zoom-in', KeyS: 'zoom-out', KeyA: 'pan-left', KeyD: 'pan-right',
  ArrowUp: 'row-up', ArrowDown: 'row-down', Enter: 'row-toggle', ArrowLeft: 'nudge-left',
  ArrowRight: 'nudge-right', Digit0: 'fit', KeyF: 'frame',
  Space: 'play', Period: 'next', Comma: 'previous', Minus: 'slower',
  Equal: 'faster', Home: 'start', End: 'end', KeyJ: 'reverse', KeyK: 'pause', KeyL: 'forward', KeyO: 'loop', KeyI: 'skip-idle', KeyP: 'pin', KeyH: 'hide', KeyQ: 'panel', KeyC: 'compare', KeyT: 'step-kind', KeyG: 'request', KeyU: 'functions', KeyE: 'by-events', KeyY: 'follow', KeyR: 'rank-rows', KeyM: 'note', KeyV: 'stacks', BracketLeft: 'marker-a', BracketRight: 'marker-b',
  Escape: 'clear',
};
const SHIFTED: Record<string, string> = {
  KeyQ: 'query', KeyG: 'source',
  KeyP: 'picture', KeyV: 'drawing', KeyX: 'palette', KeyD: 'theme',
  Space: 'play-back', Period: 'next-machine', Comma: 'previous-machine',
  ArrowLeft: 'select-left', ArrowRight: 'select-right',
};

const WITH_ALT: Record<string, string> = {
  ArrowUp: 'lift', ArrowDown: 'lower', Home: 'row-first', End: 'row-last',
};

// Those of which the name or what they do has all words of a text.
export function commandsLike(text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/);
  return COMMANDS.filter(({id, says}) => words.every((word) => `${id.replaceAll('-', ' ')} ${says}`.toLowerCase().includes(word)));
}

export function commandFor(event: Key): string|undefined {
  if (event.key === '?') return 'help';
  // On many keyboards it is Shift and the key of the point, which steps.
  if (event.key === '>' && event.code !== 'Period') return 'commands';
  if (event.key === ':') return 'filter';
  if (event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey) return WITH_ALT[event.code];
  if (event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey) return 'find';
  if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
  return event.shiftKey ? SHIFTED[event.code] : PLAIN[event.code];
}
