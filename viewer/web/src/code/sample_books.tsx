// What is below a table of samples, as the report prints it: the books of the
// event, and whether its two periods agree.

import type {FunctionsAnswer, PeriodComparison, SampleBooks as Books} from '../api/schema';
import {clean} from '../core/names';
import {formatCount, formatEventCount} from '../core/units';

// As cli/report/sample_books.cc has it.
export function periodsLines({samples, degrees_of_freedom: freedom, chi_squared: chi, p, agree, most}: PeriodComparison): string[] {
  const counts = `${samples[0]} and ${samples[1]} samples`;
  if (agree === null || chi === null || p === null) {
    return [`the two periods are not compared: ${counts} are not two functions with enough of both`];
  }
  const test = `chi-squared ${chi.toFixed(1)}, ${freedom} degree${freedom === 1 ? '' : 's'} of freedom, p ${
    p < 0.0001 ? '< 0.0001' : `= ${p.toFixed(4)}`}`;
  if (agree || !most) return [`the two periods agree: ${counts} (${test})`];
  const [one, other] = most.shares.map((share) => `${(100 * share).toFixed(1)} %`);
  return [
    `the two periods disagree: ${counts} (${test})`,
    `most at ${clean(most.function)}: ${one} and ${other}; a period beats with a loop of the program, and its shares are wrong: record with another PERIOD`,
  ];
}

function bookText(book: Books): string {
  if (book.counted === null) return '';
  const amount = (value: number): string => formatEventCount(book.event, value);
  const parts = [`processes ${amount(book.processes)}`];
  if (book.shorter === undefined) {
    parts.push(`idle ${amount(book.idle)}`, `outside ${amount(book.outside)}`, `residual ${amount(book.residual ?? 0)}`);
    return ` Books of the trace: ${parts.join(' + ')} = counted ${amount(book.counted)} (one period of each CPU: ${amount(book.one_period_a_cpu)}).`;
  }
  if (book.idle !== 0) parts.push(`idle ${amount(book.idle)}`);
  if (book.outside !== 0) parts.push(`outside ${amount(book.outside)}`);
  const ofWaker = book.event === 'off-cpu-waker';
  if (!ofWaker) parts.push(`${formatCount(book.shorter)} shorter waits ${amount(book.shorter_ns ?? 0)}`);
  if (book.lost !== 0) parts.push(`${formatCount(book.lost)} lost stacks ${amount(book.lost_ns ?? 0)}`);
  if (book.residual !== 0) parts.push(`residual ${amount(book.residual ?? 0)}`);
  return ` Books of the trace: ${parts.join(' + ')} = off CPU${ofWaker ? ' until woken' : ''} ${amount(book.counted)}.`;
}

export function SampleBooks({answer, event}: {answer: FunctionsAnswer; event: number}) {
  const book = answer.books[event];
  const all = answer.all[event];
  if (!book || !all) return null;
  const disagree = book.periods?.agree === false;
  return (
    <>
      <p class="footer">
        {all.exact ? `Sums of ${formatCount(all.samples)} waits` : `Estimates from ${formatCount(all.samples)} samples`} of {book.event} ({book.rate}).
        {bookText(book)}
        {book.lost > 0 && ` ${formatCount(book.lost)} samples were lost.`}
        {book.throttled > 0 && ` The kernel stopped sampling ${formatCount(book.throttled)} times: at too high a rate.`}
        {book.stacks_lost > 0 && ` ${formatCount(book.stacks_lost)} samples lost their stack.`}
        {book.unseen !== undefined && book.unseen > 0 && ` ${formatCount(book.unseen)} more waits whose begin or end was not seen.`}
      </p>
      {book.periods && <p class={disagree ? 'footer periods disagree' : 'footer periods'}>{periodsLines(book.periods).map((line, i) => <>{i > 0 && <br />}{line}</>)}</p>}
      {answer.notes.map((note) => <p class="footer" key={note}>{clean(note)}</p>)}
    </>
  );
}
