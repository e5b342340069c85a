// What the commands of the keymap do.

import type {AppModel} from './app_model';
import {FOLLOWS} from './follow';
import {frame} from '../timeline/framing';
import {faster} from './playback';
import {moveFocus, moveProcess} from '../timeline/rows/row_focus';
import {STEP_KINDS, stepName} from '../replay/stepping';

function after<T>(all: readonly T[], one: T): T {
  return all[(all.indexOf(one) + 1) % all.length] as T;
}

// `pointerX`: of the timeline, where zooming keeps its place; null: the middle.
export function runCommand(model: AppModel, command: string, pointerX: number|null): void {
  const view = model.view.value;
  const x = pointerX ?? view.widthPx / 2;
  const span = view.nsPerPx * view.widthPx;
  const range = model.selection.value;
  const at = model.playback.value.at;
  switch (command) {
    case 'zoom-in': return model.zoom(x, 1 / 1.5);
    case 'zoom-out': return model.zoom(x, 1.5);
    case 'pan-left': return model.pan(-view.widthPx / 8);
    case 'pan-right': return model.pan(view.widthPx / 8);
    case 'row-up': return moveFocus(model, -1);
    case 'row-down': return moveFocus(model, 1);
    case 'row-first': return moveFocus(model, -Infinity);
    case 'row-last': return moveFocus(model, Infinity);
    case 'row-toggle': {
      const lane = model.rows.focusedLane();
      return lane && model.rows.toggleLane(lane);
    }
    case 'lift':
    case 'lower': return moveProcess(model, command === 'lift' ? -1 : 1);
    case 'fit': return model.fitAll();
    case 'frame': return frame(model);
    case 'play': return model.transport.togglePlay();
    case 'play-back': return model.transport.togglePlay(true);
    case 'reverse': return model.transport.shuttle(true);
    case 'forward': return model.transport.shuttle(false);
    case 'pause': return model.transport.pause();
    case 'next': return void model.transport.step(true, false);
    case 'previous': return void model.transport.step(false, false);
    case 'next-machine': return void model.transport.step(true, true);
    case 'previous-machine': return void model.transport.step(false, true);
    case 'step-kind':
      model.stepKind.value = after(STEP_KINDS, model.stepKind.value);
      model.announcement.value = `Steps: ${stepName(model.stepKind.value)}`;
      return;
    case 'by-events':
      model.byEvents.value = !model.byEvents.value;
      model.announcement.value = `Plays ${model.transport.paceText()}`;
      return;
    case 'follow':
      model.follow.value = after(FOLLOWS, model.follow.value);
      model.announcement.value = `The window follows: ${model.follow.value}`;
      return;
    case 'slower': return model.transport.setSpeed(faster(model.playback.value.speed, -1));
    case 'faster': return model.transport.setSpeed(faster(model.playback.value.speed, 1));
    case 'start':
    case 'end':
      model.onJump();
      return model.movePlayhead(command === 'start' ? 0 : model.durationNs);
    case 'source':
      if (model.functions.opened.value) model.functions.close();
      else model.source.open.value = !model.source.open.value;
      return;
    case 'functions': return model.functions.showTable();
    case 'picture': return model.onPicture('png');
    case 'palette':
    case 'theme': return model.onAppearance(command);
    case 'drawing': return model.onPicture('svg');
    case 'nudge-left': return model.movePlayhead(at - span / 100);
    case 'nudge-right': return model.movePlayhead(at + span / 100);
    case 'select-left':
    case 'select-right': {
      const delta = (command === 'select-left' ? -1 : 1) * span / 50;
      const anchor = range ?? {from: at, to: at};
      // The far edge moves; the near one stays at the playhead's old place.
      if (delta > 0) model.select(anchor.from, anchor.to + delta);
      else if (range && range.to > at) model.select(anchor.from, anchor.to + delta);
      else model.select(anchor.from + delta, anchor.to);
      return;
    }
    case 'pin':
    case 'hide': {
      const process = model.rows.processMeant();
      if (process === null) return;
      return command === 'pin' ? model.rows.togglePin(process) : model.rows.hide(process);
    }
    case 'compare': return model.comparison.begin();
    case 'loop': model.loop.value = !model.loop.value; return;
    case 'skip-idle': model.skipIdle.value = !model.skipIdle.value; return;
    case 'panel': model.panelOpen.value = !model.panelOpen.value; return;
    case 'clear':
      if (model.helpOpen.value) model.helpOpen.value = false;
      else if (model.functions.opened.value) model.functions.close();
      else {
        model.selection.value = null;
        model.highlight.value = null;
        model.focus.value = null;
        model.item.value = null;
        model.wait.value = null;
        model.durations.value = null;
        model.lengths.value = null;
      }
      return;
    case 'help': model.helpOpen.value = !model.helpOpen.value; return;
    default: return;
  }
}
