// What the page of one trace gives to the page that shows two (pair.tsx).

import {effect} from '@preact/signals-core';

import type {AppModel} from '../model/app_model';
import {endNs} from '../model/viewport';

export interface Stage {
  readonly name: string;
  at(): number;
  span(): {from: number; to: number};
  // Calls `changed` when the playhead or the window moves.
  watch(changed: () => void): void;
  // Stops playing, and shows this instant and window.
  follow(at: number, from: number, to: number): void;
  segments(): Promise<string[]>;
  // When the first call of a segment begins; null: there is none.
  firstCall(segment: string): Promise<number|null>;
}

export function stageOf(model: AppModel): Stage {
  const hooksOf = async (segment: string): Promise<number[]> =>
      (await model.client.hooks()).filter(({name}) => name === segment).map(({hook}) => hook);
  return {
    name: model.names.trace.path?.replace(/\/+$/, '').split('/').pop() || 'trace',
    at: () => model.playback.value.at,
    span: () => ({from: model.view.value.startNs, to: endNs(model.view.value)}),
    watch(changed) {
      effect(() => {
        void [model.playback.value, model.view.value];
        changed();
      });
    },
    follow(at, from, to) {
      model.transport.pause();
      model.movePlayhead(at);
      model.setWindow(from, to);
    },
    async segments() {
      return (await model.client.longest()).items.map(({hook}) => hook)
          .map((hook) => model.names.hooks.get(hook)?.name ?? '').filter((name) => name !== '');
    },
    async firstCall(segment) {
      const begins: number[] = [];
      for (const hook of await hooksOf(segment)) {
        const {t} = await model.client.call(hook, 0, true);
        if (t !== undefined) begins.push(t);
      }
      return begins.length > 0 ? Math.min(...begins) : null;
    },
  };
}
