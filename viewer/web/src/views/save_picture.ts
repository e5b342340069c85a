// Saves a picture of the timeline as a file.

import type {TimelineEngine} from './timeline_engine';

export function savePicture(engine: TimelineEngine, name: string): void {
  engine.picture()?.toBlob((blob) => {
    if (!blob) return;
    const address = URL.createObjectURL(blob);
    const link = document.createElement('a');
    link.href = address;
    link.download = name;
    link.click();
    // The download has begun by then.
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }, 'image/png');
}
