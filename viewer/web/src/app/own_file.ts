// The index that the page's own file holds, if it was exported
// (viewer/offline/page_file.h); null: a server has it.

import type {Backend} from '../api/backend';
import {OwnIndex} from '../api/own_index';

export const isInFile = (): boolean => document.getElementById('index-module') !== null;

export async function ownFile(): Promise<Backend|null> {
  const worker = document.getElementById('index-worker');
  const module = document.getElementById('index-module');
  if (!worker?.textContent || !module?.textContent) return null;
  if (typeof DecompressionStream === 'undefined') {
    throw new Error('the file needs a browser with DecompressionStream (Chromium 80, Firefox 113, Safari 16.4)');
  }
  const parts = [...document.querySelectorAll('.index-part')];
  const samples = [...document.querySelectorAll('.samples-part')];
  const script = URL.createObjectURL(new Blob([worker.textContent], {type: 'text/javascript'}));
  const own = await OwnIndex.open(new Worker(script), {
    module: module.textContent,
    index: parts.map((part) => part.textContent ?? ''),
    indexBytes: Number(module.dataset.indexBytes),
    samples: samples.map((part) => part.textContent ?? ''),
    samplesBytes: Number(module.dataset.samplesBytes),
  });
  for (const part of [...parts, ...samples]) part.remove(); // the module has their text now
  URL.revokeObjectURL(script);
  return own;
}
