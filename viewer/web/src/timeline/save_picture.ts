// Saves a picture of the timeline as a file.

import type {TimelineEngine} from './timeline_engine';

export function savePicture(engine: TimelineEngine, name: string, kind: 'png'|'svg'): void {
  if (kind === 'svg') save(new Blob([engine.drawing()], {type: 'image/svg+xml'}), `${name}.svg`);
  else engine.picture()?.toBlob((blob) => blob && save(blob, `${name}.png`), 'image/png');
}

function save(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The download has begun by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
