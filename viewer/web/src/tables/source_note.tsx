// Over a table whose rows are not the report's: whose they are, and why.

import type {Source} from './reported_rows';

export function SourceNote({source, readAgain}: {source: Source; readAgain: () => void}) {
  if (source === 'report') return null;
  return (
    <p class="whose" role="status">
      {source === 'reading' ?
        <><strong>Provisional</strong>: numbers of the index; the report of this range is read{'\u2026'}</> :
        <><strong>Numbers of the index</strong>: {source.why}.{source.again && <> <button class="link" onClick={readAgain}>Read the report again</button></>}</>}
    </p>
  );
}
