// All features of the page, for one index: wired here, and nowhere else.

import {effect} from '@preact/signals-core';

import type {Client} from '../api/client';
import type {Growth} from '../api/schema';
import {Code} from '../code/code';
import {Compare} from '../compare/compare';
import {Core} from '../core/core';
import {reducedMotion} from '../core/motion';
import type {Names} from '../core/names';
import {safePalette, theme, togglePalette, toggleTheme} from '../core/theme';
import {FindPlaces} from '../find/find_places';
import {Follow} from '../follow/follow';
import {Notes} from '../notes/notes';
import {Query} from '../query/query';
import {Replay} from '../replay/replay';
import {Tables} from '../tables/tables';
import {savePicture} from '../timeline/save_picture';
import {Timeline} from '../timeline/timeline';
import {TimelineEngine} from '../timeline/timeline_engine';

const ADDRESS_MS = 250; // between two addresses

export class Application {
  readonly core: Core;
  readonly timeline: Timeline;
  readonly engine: TimelineEngine;
  readonly replay: Replay;
  readonly tables: Tables;
  readonly code: Code;
  readonly find: FindPlaces;
  readonly compare: Compare;
  readonly follow: Follow;
  readonly notes: Notes;
  readonly query: Query;

  private stopSaving: () => void = () => undefined;

  constructor(client: Client, names: Names, growth: Growth, overview: Uint32Array, address: string) {
    const core = new Core(client, names, growth, {theme, calm: reducedMotion});
    this.core = core;
    this.timeline = new Timeline(core);
    this.replay = new Replay(core, this.timeline.rows);
    this.tables = new Tables(core, this.timeline);
    this.code = new Code(core, this.tables.ranges, this.timeline.places);
    this.find = new FindPlaces(core, this.timeline.places);
    this.compare = new Compare(core, this.tables.ranges);
    this.notes = new Notes(core, this.timeline.flags);
    this.query = new Query(core, this.tables.ranges);
    this.follow = new Follow(core, this.timeline, this.tables);
    this.register();
    core.address.read(address, true);
    this.engine = new TimelineEngine(this.timeline, overview);
    this.engine.onPlay = (elapsedMs) => this.replay.transport.play(elapsedMs);
  }

  // Starts the requests that follow the signals. `save` is called with the
  // address, at most four times a second.
  start(save: (address: string) => void): void {
    for (const part of [this.core, this.tables, this.timeline, this.compare, this.code, this.replay, this.notes, this.follow]) part.start();
    let timer: ReturnType<typeof setTimeout>|undefined;
    this.stopSaving = effect(() => {
      void this.core.address.write();
      clearTimeout(timer);
      timer = setTimeout(() => save(this.core.address.write()), ADDRESS_MS);
    });
  }

  // Another one takes its place. The theme lives longer.
  dispose(): void {
    this.core.playback.pause();
    this.core.client.onLost = () => undefined;
    this.stopSaving();
    this.engine.dispose();
  }

  private register(): void {
    const {page, selection, focus, address, commands} = this.core;
    const picture = (kind: 'png'|'svg') => (): void => savePicture(this.engine, document.title.split(' ')[0] || 'trace', kind);
    // A link shows the colours that it was made with; what this browser stored stays.
    address.register({
      key: 'safe',
      read: (text) => {
        if (text === '1') safePalette.value = true;
      },
      write: () => safePalette.value ? '1' : null,
    });
    commands.register({
      picture: picture('png'),
      drawing: picture('svg'),
      palette: togglePalette,
      theme: toggleTheme,
      help: () => (page.helpOpen.value = !page.helpOpen.value),
      clear: () => {
        if (page.helpOpen.value) page.helpOpen.value = false;
        else if (this.code.functions.opened.value) this.code.functions.close();
        else {
          selection.clear();
          this.follow.leave();
          focus.process.value = null;
          focus.lane.value = null;
        }
      },
    });
  }
}
