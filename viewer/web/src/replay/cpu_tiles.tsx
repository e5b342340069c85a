// What each CPU does at the playhead: a tile for each, always at the same place.

import {type CpuState, type InstantState, LEAF_IDLE, LEAF_INFERRED, LEAF_OUTSIDE} from '../api/schema';
import {hookName, type Names, processName, processOf, threadName} from '../core/names';
import type {StyleBook} from '../core/style_book';
import {css} from '../core/palette';
import {formatDuration} from '../core/units';

const MOST_LARGE = 16; // CPUs; of more the tiles have one line

// What runs inside the thread: the interrupt, or else the innermost segment.
function inside(names: Names, cpu: CpuState, state: InstantState): {text: string; hook: number|null; interrupt: boolean} {
  if (cpu.in_interrupt) {
    const hook = cpu.interrupts.at(-1)?.hook ?? null;
    return {text: hook === null ? 'interrupt' : hookName(names, hook), hook, interrupt: true};
  }
  const open = state.threads.find((thread) => thread.thread === cpu.thread)?.open.at(-1);
  return {text: open ? hookName(names, open.hook) : '', hook: open?.hook ?? null, interrupt: false};
}

export function CpuTiles({names, book, state}: {names: Names; book: StyleBook; state: InstantState}) {
  const small = state.cpus.length > MOST_LARGE;
  return (
    <ul class={small ? 'cpus small' : 'cpus'}>
      {state.cpus.map((cpu) => {
        const flags = cpu.flags ?? 0;
        const idle = (flags & LEAF_IDLE) !== 0;
        const thread = cpu.thread ?? null;
        const process = thread === null ? -1 : processOf(names, thread);
        const who = !cpu.known ? 'not known' : idle ? 'idle' :
            (flags & LEAF_OUTSIDE) !== 0 ? 'outside' : thread === null ? 'not known' : processName(names, process);
        const what = inside(names, cpu, state);
        const named = thread === null ? '' : threadName(names, thread);
        return (
          <li key={cpu.cpu} title={[who, named, what.text].filter(Boolean).join(', ')}>
            <div class="tile-head">
              <span class="cpu-name">CPU {cpu.cpu}</span>
              <span class="since">
                {(flags & LEAF_INFERRED) !== 0 && cpu.known ? '~' : ''}
                {cpu.begin_ns !== undefined ? formatDuration(state.t - cpu.begin_ns) : ''}
              </span>
            </div>
            <div class="tile-line">
              <span class="swatch" style={{background: thread === null ? css(book.theme.idle) : css(book.process(process))}} />
              <span class={thread === null ? 'who faint' : 'who'}>{who}</span>
            </div>
            {!small && <div class="tile-line faint"><span class="who">{named}</span></div>}
            {!small && (
              <div class={`tile-line ${what.interrupt ? 'interrupt' : ''}`}>
                {what.hook !== null && <span class="swatch" style={{background: css(book.hook(what.hook))}} />}
                <span class="who">{what.text}</span>
              </div>
            )}
          </li>
        );
      })}
    </ul>
  );
}
