// The file of the innermost open segment: a track for each CPU, lit where it is,
// a mark at the edge if that is out of sight, and what the calls of each line took in the selection.

import type {ReadonlySignal} from '@preact/signals-core';
import {useEffect, useRef, useState} from 'preact/hooks';

import type {Code} from './code';
import type {InstantState} from '../api/schema';
import {clean, processOf} from '../core/names';
import {lineTotals, type Place, placesOf} from './source_view';
import {CodePanel} from './code_panel';
import {css} from '../core/palette';
import {formatCount, formatDuration} from '../core/units';
import {theme} from '../core/theme';
import type {StyleBook} from '../core/style_book';
import {useSignal} from '../core/use_signal';

const LINE_PX = 17;
const BEYOND = 8; // lines that are there above and below those in sight
const MOST_TRACKS = 16;

// Where a line is that is out of sight.
function sideOf(line: number, top: number, height: number): 'above'|'below'|null {
  const y = (line - 1) * LINE_PX;
  return y + LINE_PX <= top ? 'above' : y >= top + height ? 'below' : null;
}

interface AwayProps {
  places: readonly Place[]; // in the file that is shown
  top: number;
  height: number;
  book: StyleBook;
  onGo: (line: number) => void;
}

// At its upper and lower edge: the CPUs whose lines are out of sight.
function AwayMarks({places, top, height, book, onGo}: AwayProps) {
  return (
    <>
      {(['above', 'below'] as const).map((side) => (
        <div class={`source-away ${side}`} key={side}>
          {places.filter((place) => sideOf(place.line, top, height) === side).map(({cpu, line, process}) => (
            <button key={cpu} title={`CPU ${cpu} is in line ${line}; a click goes there`} onClick={() => onGo(line)}>
              <span class="swatch" style={{background: css(book.process(process))}} />
              CPU {cpu} {side === 'above' ? '\u2191' : '\u2193'} {line}
            </button>
          ))}
        </div>
      ))}
    </>
  );
}

export function SourcePanel({code, instant}: {code: Code; instant: ReadonlySignal<InstantState|null>}) {
  const {core, source} = code;
  const state = useSignal(instant);
  const answers = useSignal(source.answers);
  const byHook = useSignal(source.byHook);
  const selection = useSignal(core.range.chosen);
  useSignal(theme);
  const [path, setPath] = useState<string|null>(null);
  const [top, setTop] = useState(0);
  const box = useRef<HTMLDivElement>(null);

  const range = selection ?? {from: 0, to: core.durationNs + 1};
  useEffect(() => {
    const timer = setTimeout(() => void source.loadTotals(range.from, range.to), 150);
    return () => clearTimeout(timer);
  }, [source, range.from, range.to]);
  useEffect(() => {
    source.want(state?.threads.flatMap((thread) => thread.open.map((segment) => segment.hook)) ?? []);
  }, [source, state]);

  const places = state ? placesOf(state, answers, (thread) => processOf(core.names, thread)) : [];
  // The file stays as long as a CPU is in it.
  const shown = places.some((place) => place.path === path) ? path : places[0]?.path ?? path;
  useEffect(() => setPath(shown), [shown]);
  const text = shown === null ? null : source.textOf(shown);
  const here = places.filter((place) => place.path === shown);
  const line = here[0]?.line ?? 0;
  const height = box.current?.clientHeight ?? 190;
  useEffect(() => {
    const element = box.current;
    if (!element || line === 0) return;
    const y = (line - 1) * LINE_PX;
    if (y < element.scrollTop || y > element.scrollTop + element.clientHeight - LINE_PX) {
      element.scrollTop = y - element.clientHeight / 2;
    }
  }, [line, shown]);

  const totals = shown === null ? new Map() : lineTotals(shown, byHook, answers);
  const reason = [...answers.values()].find((answer) => !answer.found);
  const tracks = Math.min(core.names.trace.cpus, MOST_TRACKS);
  const first = Math.max(Math.floor(top / LINE_PX) - BEYOND, 0);
  const last = Math.min(first + Math.ceil(height / LINE_PX) + 2 * BEYOND, text?.lines.length ?? 0);
  return (
    <CodePanel core={core} label="Source" back={{to: 'Tables', go: () => core.commands.run('source', null)}} head={<>
        <h2>Source</h2>
        <span class="range-what">{clean(shown ?? '') || (reason && !reason.found ? reason.reason : 'no open segment has a file')}
          <span class="faint">{text ? ` calls and own time of ${selection ? 'the selection' : 'the whole trace'}` : ''}</span></span>
      </>}>
      <div class="source-box">
        <div class="source" ref={box} tabIndex={0} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
          <div class="source-all" style={{height: `${(text?.lines.length ?? 0) * LINE_PX}px`}}>
            {text?.lines.slice(first, last).map((words, i) => {
              const number = first + i + 1;
              const total = totals.get(number);
              return (
                <div class={`source-line ${here.some((place) => place.line === number) ? 'lit' : ''}`} key={number}
                     style={{top: `${(number - 1) * LINE_PX}px`}}>
                  <span class="tracks">
                    {Array.from({length: tracks}, (_, cpu) => {
                      const place = here.find((one) => one.cpu === cpu && one.line === number);
                      return <i key={cpu} title={`CPU ${cpu}`} style={place ? {background: css(core.book.value.process(place.process))} : {}} />;
                    })}
                  </span>
                  <span class="line-calls">{total ? formatCount(total.calls) : ''}</span>
                  <span class="line-own">{total ? formatDuration(total.ownNs) : ''}</span>
                  <span class="line-number">{number}</span>
                  <code>{clean(words.replaceAll('\t', '    '))}</code>
                </div>
              );
            })}
          </div>
        </div>
        <AwayMarks places={here} top={top} height={height} book={core.book.value}
                   onGo={(line) => box.current?.scrollTo({top: (line - 1) * LINE_PX - height / 2})} />
      </div>
    </CodePanel>
  );
}
