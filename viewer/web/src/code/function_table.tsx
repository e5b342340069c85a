// The functions that samples were taken in, as `report --by function` has them.
// A click, or Enter, shows the code of one.

import {useEffect} from 'preact/hooks';

import type {FunctionRow, FunctionsAnswer} from '../api/schema';
import type {Code} from './code';
import {rowKey} from './functions';
import {clean, processName, processOf, threadName} from '../core/names';
import {formatCount} from '../core/units';
import {type Column, DataTable, Pages} from '../tables/data_table';
import {type Estimate, estimateLimits, estimateText, shareLimits, shareText, type Whole, wholeOf} from './estimates';
import {SampleBooks} from './sample_books';
import {PictureChoice, SampledPicture} from './sampled_pictures';
import {useSignal} from '../core/use_signal';

const self = (row: FunctionRow): Estimate => ({hits: row.self_samples, value: row.self, lo: row.self_lo, hi: row.self_hi});
const total = (row: FunctionRow): Estimate => ({hits: row.total_samples, value: row.total, lo: row.total_lo, hi: row.total_hi});

function columnsOf(answer: FunctionsAnswer): Column<FunctionRow>[] {
  const whole = (row: FunctionRow): Whole => wholeOf(row.event, answer.all);
  const exact = answer.rows[0] !== undefined && whole(answer.rows[0]).exact;
  const amount = (title: string, says: string, by: string, of: (row: FunctionRow) => Estimate): Column<FunctionRow>[] => [
    {title, says, number: true, by, text: (row) => estimateText(whole(row), of(row)), limits: (row) => estimateLimits(whole(row), of(row))},
    {title: `${title} of all`, says: 'Share of the samples of the range, of its process or thread if one is chosen', number: true, by: '',
     text: (row) => shareText(of(row), whole(row)), limits: (row) => shareLimits(of(row), whole(row))},
  ];
  const text = (title: string, says: string, by: string, of: (row: FunctionRow) => string): Column<FunctionRow> =>
      ({title, says, number: false, by, text: of});
  return [
    text('Function', 'A click shows its code', 'function', (row) => `${clean(row.function)}${row.inlined ? ' (inlined)' : ''}`),
    ...(answer.rows.some((row) => row.in !== '') ?
            [text('In', 'The segment and the system call that were open', 'in', (row) => clean(row.in))] : []),
    ...amount('Self', exact ? 'In the function itself, exactly' :
                              'In the function itself; the interval holds the truth in 95 of 100 recordings', 'self', self),
    ...amount('Total', 'In the function and those that it calls', 'total', total),
    text('File', 'The program or library that has its code', 'dso', (row) => clean(row.dso)),
  ];
}

// Which event the table is of: of several, one at a time.
function EventChoice({code, answer}: {code: Code; answer: FunctionsAnswer}) {
  const {functions} = code;
  const chosen = useSignal(functions.event);
  if (answer.all.length < 2) return null;
  return (
    <div class="views" role="group" aria-label="Event">
      {answer.all.map(({event, samples}, number) => (
        <button key={number} aria-pressed={number === chosen} title={`${formatCount(samples)} samples`}
                onClick={() => functions.chooseEvent(number)}>{event}</button>
      ))}
    </div>
  );
}

// Which thread the table is of: those with the most samples, and the chosen one.
function ThreadChoice({code, answer}: {code: Code; answer: FunctionsAnswer}) {
  const {core, functions} = code;
  const {names} = core;
  const thread = useSignal(core.focus.thread);
  useSignal(names.changed);
  if (answer.threads_total < 2 && thread === null) return null;
  const listed = answer.threads.some((one) => one.thread === thread);
  const left = answer.threads_total - answer.threads.length;
  const option = (one: number, samples: number) => {
    const process = processOf(names, one);
    const of = process === core.focus.process.peek() ? '' : ` of ${processName(names, process)} ${names.process(process)?.pid ?? ''}`;
    return <option key={one} value={String(one)} selected={one === thread}>{`${threadName(names, one)}${of}: ${formatCount(samples)} samples`}</option>;
  };
  return (
    <label class="choice">Thread{' '}
      <select title="As by report --thread" onChange={({currentTarget: {value}}) => functions.choose(value === '' ? null : Number(value))}>
        <option value="" selected={thread === null}>{`all ${formatCount(answer.threads_total)}`}</option>
        {thread !== null && !listed && option(thread, 0)}
        {answer.threads.map((one) => option(one.thread, one.samples))}
        {left > 0 && <option disabled>{`${formatCount(left)} more, with fewer samples: by the table Threads`}</option>}
      </select>
    </label>
  );
}

export function FunctionTable({code}: {code: Code}) {
  const {core, functions} = code;
  const {names} = core;
  const answer = useSignal(functions.answer);
  const busy = useSignal(functions.busy);
  const process = useSignal(core.focus.process);
  const thread = useSignal(core.focus.thread);
  const event = useSignal(functions.event);
  const filter = useSignal(core.focus.filter);
  const wantsFocus = useSignal(functions.wantsFocus);
  const picture = useSignal(code.tree.picture);
  const last = functions.last === null ? null : rowKey(functions.last);
  useEffect(() => {
    if (!wantsFocus || busy || !answer) return;
    functions.wantsFocus.value = false;
    const rows = '.functions tbody tr';
    (document.querySelector<HTMLElement>(`${rows}.selected`) ?? document.querySelector<HTMLElement>(rows))?.focus();
  }, [functions, answer, busy, wantsFocus]);
  const refused = useSignal(functions.refusedTable);
  if (refused !== null) return <p class="refused">{clean(refused)}</p>;
  if (!answer) return <p class="refused">The trace is read{'\u2026'}</p>;
  if (!answer.sampled) {
    return (
      <p class="refused">The trace has no samples, so it does not say which function was running. <code>countrace record --sample 199 -- CMD</code> takes
        199 a second on each CPU, of any program.</p>
    );
  }
  const of = process === null ? null : `${processName(names, process)} ${names.process(process)?.pid ?? ''}`;
  const who = thread !== null ? threadName(names, thread) : of;
  return (
    <div class={busy ? 'functions stale' : 'functions'}>
      {of !== null && (
        <p class="condition">Of <strong>{of}</strong>, as by <code>report --process</code>.
          <button class="link" onClick={() => (core.focus.process.value = null)}>all processes</button></p>
      )}
      {filter !== '' && <p class="condition">All rows: they lack a field of <code>{filter}</code>.</p>}
      <EventChoice code={code} answer={answer} />
      <ThreadChoice code={code} answer={answer} />
      {core.client.backend.hasTrace && <PictureChoice tree={code.tree} />}
      {picture === 'table' && <Pages from={code.ranges.offset} total={answer.total} />}
      {answer.rows.length === 0 ?
        <p class="refused">No sample was taken {who === null ? '' : `of ${who} `}in {core.range.chosen.value ? 'the selection' : `the ${core.extent.name}`}.
          {who !== null && <button class="show-all" onClick={() => {
            functions.choose(null);
            core.focus.process.value = null;
          }}>Show all processes</button>}</p> :
        picture !== 'table' ? <SampledPicture code={code} answer={answer} event={event} /> :
        <DataTable columns={columnsOf(answer)} rows={answer.rows} ranges={code.ranges} rowKey={rowKey} swatch={() => null} arrows
                   selected={(row) => rowKey(row) === last} onClick={(row) => functions.open(row)} />}
      <SampleBooks answer={answer} event={event} />
    </div>
  );
}
