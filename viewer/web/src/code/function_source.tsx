// The code of a function with its samples: source lines and instructions, as
// `countrace annotate` has them. A click on a line shows its instructions.

import {useEffect, useRef, useState} from 'preact/hooks';

import type {FunctionRow, ListingAnswer, ListingEvent, SelfAmount} from '../api/schema';
import type {Code} from './code';
import {type CodeInstruction, codeInstructions, type CodeLine, codeLines, hottest} from './code_listing';
import {clean, processName, threadName, visible} from '../core/names';
import {formatDuration} from '../core/units';
import {CodePanel} from './code_panel';
import {wholeOf, type Estimate, estimateText, shareLimits, shareText, type Whole} from './estimates';
import {useSignal} from '../core/use_signal';

// Keys that scroll; else they are for the rows above.
const SCROLLING = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'PageUp', 'PageDown', 'Home', 'End', 'Space'];

interface Place {
  file: string;
  line: number;
}

const estimate = (self: SelfAmount): Estimate =>
    ({hits: self.self_samples, value: self.self, lo: self.self_lo, hi: self.self_hi});

// How hot a row is, from 0 to 1, beside the hottest.
function heat(self: SelfAmount|null, most: number): {style?: {background: string}} {
  if (!self || most === 0) return {};
  return {style: {background: `color-mix(in srgb, var(--loss) ${Math.round(4 + 22 * self.self / most)}%, transparent)`}};
}

function Amounts({self, all}: {self: SelfAmount|null; all: Whole}) {
  const one = self && estimate(self);
  return (
    <>
      <td class="number">{one && estimateText(all, one)}</td>
      <td class="number">{one && shareText(one, all)}</td>
      <td class="limits">{one && shareLimits(one, all)}</td>
    </>
  );
}

// A click that selects no text.
function isClick(): boolean {
  return getSelection()?.isCollapsed ?? true;
}

interface ListProps {
  all: Whole;
  lit: Place|null;
  onPlace: (place: Place) => void;
}
const isLit = (row: Place, lit: Place|null): boolean => lit !== null && row.line !== 0 && row.line === lit.line && row.file === lit.file;

function Lines({rows, all, lit, onPlace}: ListProps & {rows: CodeLine[]}) {
  const most = rows[hottest(rows)]?.self?.self ?? 0;
  return (
    <table class="listing lines">
      <thead><tr><th class="number" colSpan={3}>Self</th><th class="number">Line</th><th>Source</th></tr></thead>
      <tbody>
        {rows.map((row, i) => [
          ...(rows[i - 1]?.file === row.file ? [] : [
            <tr class="file" key={`file ${row.file}`}><th colSpan={5} scope="rowgroup">{row.file === '' ? 'code without a line' : visible(row.file)}</th></tr>]),
          ...(row.gap ? [<tr class="gap" key={`gap ${row.file} ${row.line}`}><td colSpan={5}>{'\u22ef'}</td></tr>] : []),
          <tr key={`${row.file} ${row.line}`} class={isLit(row, lit) ? 'lit' : ''} onClick={() => isClick() && onPlace(row)}>
            <Amounts self={row.self} all={all} />
            <td class="number line-no">{row.line === 0 ? '' : row.line}</td>
            <td class="code" {...heat(row.self, most)}><code>{row.text === null ? '' : visible(row.text.replaceAll('\t', '    '))}</code></td>
          </tr>,
        ])}
      </tbody>
    </table>
  );
}

function Instructions({rows, all, lit, onPlace}: ListProps & {rows: CodeInstruction[]}) {
  const most = rows[hottest(rows)]?.self?.self ?? 0;
  return (
    <table class="listing instructions">
      <thead><tr><th class="number" colSpan={3}>Self</th><th class="number">Address</th><th class="number">Line</th><th>Instruction</th></tr></thead>
      <tbody>
        {rows.map((row, i) => {
          const before = rows[i - 1];
          const again = before !== undefined && before.line === row.line && before.file === row.file && before.of === row.of;
          return [
            ...(row.gap ? [<tr class="gap" key={`gap ${row.address}`}><td colSpan={6}>{'\u22ef'}</td></tr>] : []),
            <tr key={row.address} class={isLit(row, lit) ? 'lit' : ''} onClick={() => isClick() && onPlace(row)}>
              <Amounts self={row.self} all={all} />
              <td class="number line-no">{row.address}</td>
              <td class="number line-no" title={row.of === '' ? '' : `Of ${clean(row.of)}, which is inlined here`}>
                {again ? '' : `${row.line === 0 ? '' : row.line}${row.of === '' ? '' : `\u2009of\u2009${clean(row.of).slice(0, 24)}`}`}</td>
              <td class="code" {...heat(row.self, most)}><code>{row.text === '' ? 'not disassembled' : visible(row.text.replaceAll('\t', ' '))}</code></td>
            </tr>,
          ];
        })}
      </tbody>
    </table>
  );
}

function Panes({listing, event}: {listing: ListingAnswer; event: ListingEvent}) {
  const lines = codeLines(listing, event);
  const instructions = codeInstructions(listing, event);
  const [lit, setLit] = useState<Place|null>(null);
  const left = useRef<HTMLDivElement>(null);
  const right = useRef<HTMLDivElement>(null);
  const name = `${listing.function} ${event.event}`;
  // To the hottest of each; the keyboard scrolls the source.
  useEffect(() => {
    for (const [pane, rows] of [[left, lines], [right, instructions]] as const) {
      pane.current?.querySelectorAll('tbody tr:not(.file):not(.gap)')[hottest(rows)]?.scrollIntoView({block: 'center'});
    }
    (left.current ?? right.current)?.focus({preventScroll: true});
  }, [name]);
  const go = (pane: HTMLElement|null) => (place: Place): void => {
    setLit(isLit(place, lit) || place.line === 0 ? null : {file: place.file, line: place.line});
    // Both panes have their rows when the click is drawn.
    requestAnimationFrame(() => pane?.querySelector('tr.lit')?.scrollIntoView({block: 'nearest'}));
  };
  const all = wholeOf(event.event, listing.all);
  const pane = (label: string, ref: typeof left, content: preact.ComponentChildren) => (
    <div class="pane" ref={ref} tabIndex={0} role="region" aria-label={label}
         onKeyDown={(key) => {
           if (SCROLLING.includes(key.code)) key.stopPropagation();
         }}>{content}</div>
  );
  return (
    <div class="panes">
      {lines.length > 0 && pane('Source lines', left, <Lines rows={lines} all={all} lit={lit} onPlace={go(right.current)} />)}
      {instructions.length > 0 &&
        pane('Instructions', right, <Instructions rows={instructions} all={all} lit={lit} onPlace={go(left.current)} />)}
    </div>
  );
}

export function FunctionSource({code, row}: {code: Code; row: FunctionRow}) {
  const {core, functions} = code;
  const {names} = core;
  const listing = useSignal(functions.listing);
  const refused = useSignal(functions.refused);
  const selection = useSignal(core.range.chosen);
  const process = useSignal(core.focus.process);
  const thread = useSignal(core.focus.thread);
  const [chosen, choose] = useState(row.event);
  const sampled = listing?.events.filter(({addresses}) => addresses.some((one) => one.self_samples > 0)) ?? [];
  const event = sampled.find((one) => one.event === chosen) ?? sampled[0];
  return (
    <CodePanel core={core} label="Source of a function" of="function-source"
               back={{to: 'Functions', says: 'Back to the table  (Esc)', go: () => functions.close()}} head={<>
        <h2 class="function-name" title={clean(row.function)}>{clean(row.function)}</h2>
        <span class="range-what"><span class="text">{clean(row.dso)}
          {listing && event && `: self ${estimateText(wholeOf(event.event, listing.all), estimate(event))}, ${shareText(estimate(event), wholeOf(event.event, listing.all))} ${
            shareLimits(estimate(event), wholeOf(event.event, listing.all))} of all ${event.event}`}
          <span class="faint">{thread !== null ? `of ${threadName(names, thread)}, ` : process === null ? '' : `of ${processName(names, process)} ${names.process(process)?.pid ?? ''}, `}
            {selection ? `${formatDuration(selection.to - selection.from)} selected` : core.extent.name}</span></span></span>
        {sampled.length > 1 && sampled.map((one) => (
          <button key={one.event} aria-pressed={one === event} onClick={() => choose(one.event)}>{one.event}</button>
        ))}
      </>}>
      {refused !== null ? <p class="refused">{clean(refused)}</p> :
        !listing ? <p class="refused">The code is read{'\u2026'}</p> : (
          <>
            {listing.notes.map((note) => <p class="footer note" key={note}>{visible(note)}</p>)}
            {event ? <Panes listing={listing} event={event} /> : <p class="refused">No sample here.</p>}
          </>
        )}
    </CodePanel>
  );
}
