// What each CPU does at the playhead: a tile for each, always at the same place.
// While it plays a tile beats with each frame in which dispatches began, and has
// their number: those between are not seen.

import {type CpuState, type InstantState, LEAF_IDLE, LEAF_INFERRED, LEAF_OUTSIDE} from '../api/schema';
import {hookName, type Names, processName, processOf, threadName} from '../core/names';
import type {StyleBook} from '../core/style_book';
import {css} from '../core/palette';
import {formatCount, formatDuration} from '../core/units';

const MOST_TILES = 8; // CPUs; of more there is a grid of squares

// What runs inside the thread: the interrupt, or else the innermost segment.
function inside(names: Names, cpu: CpuState, state: InstantState): {text: string; hook: number|null; interrupt: boolean} {
  if (cpu.in_interrupt) {
    const hook = cpu.interrupts.at(-1)?.hook ?? null;
    return {text: hook === null ? 'interrupt' : hookName(names, hook), hook, interrupt: true};
  }
  const open = state.threads.find((thread) => thread.thread === cpu.thread)?.open.at(-1);
  return {text: open ? hookName(names, open.hook) : '', hook: open?.hook ?? null, interrupt: false};
}

interface Tiles {
  names: Names;
  book: StyleBook;
  state: InstantState;
  beats: readonly number[]; // dispatches since the frame before, by CPU
}

interface Shown {
  who: string;
  named: string; // its thread
  colour: string;
  idle: boolean;
  what: ReturnType<typeof inside>;
}

function shown(names: Names, book: StyleBook, cpu: CpuState, state: InstantState): Shown {
  const flags = cpu.flags ?? 0;
  const thread = cpu.thread ?? null;
  const process = thread === null ? -1 : processOf(names, thread);
  const who = !cpu.known ? 'not known' : (flags & LEAF_IDLE) !== 0 ? 'idle' :
      (flags & LEAF_OUTSIDE) !== 0 ? 'outside' : thread === null ? 'not known' : processName(names, process);
  return {
    who, named: thread === null ? '' : threadName(names, thread), idle: thread === null,
    colour: css(thread === null ? book.theme.idle : book.process(process)), what: inside(names, cpu, state),
  };
}

// Where there are many: one square each, sixteen in a line.
function CpuGrid({names, book, state, beats}: Tiles) {
  return (
    <ul class="cpu-grid">
      {state.cpus.map((cpu, i) => {
        const {who, named, colour, what} = shown(names, book, cpu, state);
        return (
          <li key={cpu.cpu} title={[`CPU ${cpu.cpu}: ${who}`, named, what.text].filter(Boolean).join(', ')}
              class={`${what.interrupt ? 'interrupt' : ''} ${(beats[i] ?? 0) > 0 ? 'beat' : ''}`} style={{background: colour}} />
        );
      })}
    </ul>
  );
}

export function CpuTiles({names, book, state, beats}: Tiles) {
  if (state.cpus.length > MOST_TILES) return <CpuGrid names={names} book={book} state={state} beats={beats} />;
  return (
    <ul class="cpus">
      {state.cpus.map((cpu, i) => {
        const began = beats[i] ?? 0;
        const {who, named, colour, idle, what} = shown(names, book, cpu, state);
        const inferred = cpu.known && ((cpu.flags ?? 0) & LEAF_INFERRED) !== 0;
        return (
          <li key={cpu.cpu} class={began > 0 ? 'beat' : ''} title={[who, named, what.text].filter(Boolean).join(', ')}>
            <div class="tile-head">
              <span class="cpu-name">CPU {cpu.cpu}</span>
              {began > 1 && <span class="began" title="dispatches since the frame before">{formatCount(began)}{'\u00d7'}</span>}
              <span class="since">
                {inferred ? '~' : ''}
                {cpu.begin_ns !== undefined ? formatDuration(state.t - cpu.begin_ns) : ''}
              </span>
            </div>
            <div class="tile-line">
              <span class="swatch" style={{background: colour}} />
              <span class={idle ? 'who faint' : 'who'}>{who}</span>
            </div>
            <div class="tile-line faint"><span class="who">{named}</span></div>
            <div class={`tile-line ${what.interrupt ? 'interrupt' : ''}`}>
              {what.hook !== null && <span class="swatch" style={{background: css(book.hook(what.hook))}} />}
              <span class="who">{what.text}</span>
            </div>
          </li>
        );
      })}
    </ul>
  );
}
