// The item that the user clicked, and what F frames: it, the selected wait or
// the selected range.

import type {AppModel, Selection} from '../core/app_model';
import * as viewport from '../core/viewport';

export interface ChosenItem extends Selection {
  row: number; // of the index
}

function framed(model: AppModel): Selection|null {
  const wait = model.wait.value;
  return model.item.value ?? (wait ? {from: wait.begin_ns, to: wait.end_ns} : null) ?? model.selection.value;
}

// Centres it; again, or where it has no room, fits it. Without one it centres
// the playhead.
export function frame(model: AppModel): void {
  const view = model.view.value;
  const what = framed(model);
  const at = what ? (what.from + what.to) / 2 : model.playback.value.at;
  const centred = viewport.centre(view, at, model.durationNs);
  const moved = Math.abs(centred.startNs - view.startNs) > view.nsPerPx;
  const room = !what || what.to - what.from <= view.nsPerPx * view.widthPx;
  if (moved && room) {
    model.onJump();
    model.view.value = centred;
  } else if (what && what.to > what.from) {
    model.show(what.from, what.to);
  }
}
