// What F does.

import type {Core} from '../core/core';

// Centres what is selected; again, or where it has no room, fits it. Without a
// selection it centres the playhead.
export function frame({view, selection, playback}: Pick<Core, 'view'|'selection'|'playback'>): void {
  const shown = view.viewport.value;
  const what = selection.selected.value;
  const at = what ? (what.from + what.to) / 2 : playback.play.value.at;
  const centred = view.centred(at);
  const moved = Math.abs(centred.startNs - shown.startNs) > shown.nsPerPx;
  const room = !what || what.to - what.from <= shown.nsPerPx * shown.widthPx;
  if (moved && room) {
    view.onJump();
    view.viewport.value = centred;
  } else if (what && what.to > what.from) {
    view.show(what.from, what.to);
  }
}
