// What a key does.

import type {Core} from '../core/core';
import {commandFor} from '../core/keymap';
import {inPair} from '../core/frame';
import {focusFindBox} from '../find/find_box';

// Keys that an input, a button or a table row handles itself. By name: it may be
// an element of the page around (core/frame.ts).
function isTyping(target: EventTarget|null, code: string): boolean {
  const name = (target as Partial<Element>|null)?.tagName ?? '';
  if (['SELECT', 'INPUT', 'TEXTAREA'].includes(name)) return true;
  return name === 'TR' && code === 'Enter' || name === 'BUTTON' && (code === 'Space' || code === 'Enter');
}

// A key of the page itself. In a pair the page around has the one list of keys, and opens it.
export function pressOwnKey(core: Core, event: KeyboardEvent): void {
  if (!inPair || commandFor(event) !== 'help' || isTyping(event.target, event.code)) return pressKey(core, event);
  event.preventDefault();
  parent.dispatchEvent(new KeyboardEvent(event.type, event));
}

export function pressKey(core: Core, event: KeyboardEvent): void {
  if (isTyping(event.target, event.code)) return;
  const command = commandFor(event);
  if (!command) return;
  if (core.page.helpOpen.value && command !== 'help' && command !== 'clear') return;
  event.preventDefault();
  if (command === 'find') return focusFindBox();
  if (command === 'commands') return focusFindBox('>');
  if (command === 'filter') return focusFindBox(core.focus.filter.value === '' ? ':' : '');
  core.commands.run(command, core.focus.pointer.value?.x ?? null);
}
