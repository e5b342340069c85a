// The notes in the page's own file (viewer/offline/page_file.h). What the file
// says is not trusted: only notes of the right kind are taken.

import type {Note} from '../api/schema';

// Those of a part of a trace that begins `from` ns after the trace.
export function noteFile(from: number, durationNs: number): Note[] {
  const packed = document.getElementById('notes')?.textContent ?? '';
  try {
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const list: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return (Array.isArray(list) ? list : []).flatMap((one: Partial<Note>|null) => {
      const at = typeof one?.at === 'number' ? one.at - from : -1;
      return typeof one?.text === 'string' && at >= 0 && at <= durationNs ? [{at, text: one.text}] : [];
    });
  } catch {
    return [];
  }
}
