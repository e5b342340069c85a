// Samples as a flame graph (callers below), as an icicle (callers above), and as a
// sandwich: who calls the chosen function, and what it calls.

import {useEffect, useRef} from 'preact/hooks';

import type {FunctionsAnswer, SampleTreeAnswer, TreeRow} from '../api/schema';
import type {Code} from './code';
import {clean} from '../core/names';
import {css, hashName, SEGMENT_SLOTS, segmentColour, textOn} from '../core/palette';
import {formatCount} from '../core/units';
import {useSignal} from '../core/use_signal';
import {theme} from '../core/theme';
import {estimateText, shareText, type Whole, wholeOf} from './estimates';
import {boxesOf, type Chosen, type Picture, PICTURES, type SampledTree} from './sampled_tree';

const ROW_PX = 18;
const LEAST_SHARE = 0.002; // narrower ones are not drawn

const total = ({total_samples: hits, total: value, total_lo: lo, total_hi: hi}: TreeRow) => ({hits, value, lo, hi});
const own = ({self_samples: hits, self: value, self_lo: lo, self_hi: hi}: TreeRow) => ({hits, value, lo, hi});
const isSame = (a: Chosen|null, b: Chosen): boolean => a !== null && a.function === b.function && a.dso === b.dso;

const SAYS: Record<Picture, [string, string]> = {
  table: ['Table', 'As report --by function'],
  flame: ['Flame graph', 'As report --by calltree, callers below'],
  icicle: ['Icicle', 'As report --by calltree, callers above'],
  sandwich: ['Sandwich', 'Who calls the chosen function, and what it calls'],
};

export function PictureChoice({tree}: {tree: SampledTree}) {
  const picture = useSignal(tree.picture);
  return (
    <div class="views" role="group" aria-label="Functions as">
      {PICTURES.map((one) => (
        <button key={one} aria-pressed={one === picture} title={SAYS[one][1]} onClick={() => (tree.picture.value = one)}>{SAYS[one][0]}</button>
      ))}
    </div>
  );
}

// `up`: the outermost is at the foot.
function Boxes({tree, answer, all, up}: {tree: SampledTree; answer: SampleTreeAnswer; all: Whole; up: boolean}) {
  const chosen = useSignal(tree.chosen);
  const colours = useSignal(theme);
  const boxes = boxesOf(answer.rows, all.value).filter(({from, to}) => to - from >= LEAST_SHARE);
  const deepest = boxes.reduce((most, {row}) => Math.max(most, row.depth), 0);
  return (
    <div class="boxes" style={{height: `${(deepest + 1) * ROW_PX}px`}}>
      {boxes.map(({row, from, to}, index) => {
        const fill = segmentColour(hashName(row.function) % SEGMENT_SLOTS, colours);
        const name = `${clean(row.function)}${row.inlined ? ' (inlined)' : ''}`;
        return (
          <button key={index} class={isSame(chosen, row) ? 'box chosen' : 'box'} aria-pressed={isSame(chosen, row)}
                  title={`${name}, ${clean(row.dso)}: ${estimateText(all, total(row))}, ${shareText(total(row), all)}; itself ${estimateText(all, own(row))}`}
                  style={{left: `${from * 100}%`, width: `${(to - from) * 100}%`, top: `${(up ? deepest - row.depth : row.depth) * ROW_PX}px`,
                          background: css(fill), color: css(textOn(fill))}}
                  onClick={() => (tree.chosen.value = isSame(chosen, row) ? null : {function: row.function, dso: row.dso})}>{name}</button>
        );
      })}
    </div>
  );
}

export function SampledPicture({code, answer, event}: {code: Code; answer: FunctionsAnswer; event: number}) {
  const {tree} = code;
  const picture = useSignal(tree.picture);
  const calls = useSignal(tree.calls);
  const callers = useSignal(tree.callers);
  const chosen = useSignal(tree.chosen);
  const busy = useSignal(tree.busy);
  const foot = useRef<HTMLDivElement>(null);
  // A flame graph begins at its foot.
  useEffect(() => {
    if (picture === 'flame') foot.current?.scrollIntoView({block: 'nearest'});
  }, [calls, picture]);
  const all = wholeOf(answer.all[event]?.event ?? '', answer.all);
  if (!calls) return <p class="refused">The trace is read{'\u2026'}</p>;
  const left = calls.left_out + (callers?.left_out ?? 0);
  return (
    <div class={busy ? 'picture stale' : 'picture'}>
      <p class="condition">
        {chosen ? <><strong>{clean(chosen.function)}</strong> of {clean(chosen.dso)}: ticks on the top strip are where it was sampled.
          {picture !== 'sandwich' && <button class="link" onClick={() => (tree.picture.value = 'sandwich')}>callers and callees</button>}
          <button class="link" onClick={() => (tree.chosen.value = null)}>clear</button></> :
          picture === 'sandwich' ? 'A click on a function shows who calls it, and what it calls.' : 'A click on a function shows when it was sampled.'}
      </p>
      {callers && picture === 'sandwich' && <><p class="sandwich-head">callers</p><Boxes tree={tree} answer={callers} all={all} up /><p class="sandwich-head">callees</p></>}
      <Boxes tree={tree} answer={calls} all={all} up={picture === 'flame'} />
      <div ref={foot} />
      {left > 0 && <p class="footer">{formatCount(left)} calls with less than 0.1 % of the samples are left out.</p>}
    </div>
  );
}
