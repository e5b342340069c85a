// Code: the functions that samples are of, and the lines of the open segments.

import {computed, type Signal} from '@preact/signals-core';

import type {Core} from '../core/core';
import type {RangeTables} from '../tables/range_tables';
import type {Places} from '../timeline/paint/minimap_painter';
import {Functions} from './functions';
import {SampledTree} from './sampled_tree';
import {SourceView} from './source_view';

export class Code {
  readonly functions: Functions;
  readonly source: SourceView;
  readonly tree: SampledTree;

  constructor(readonly core: Core, readonly ranges: RangeTables, places: Signal<Places|null>) {
    this.functions = new Functions(core, ranges);
    const {functions} = this;
    this.tree = new SampledTree(core, functions.event, computed(() => ranges.tab.value === 'functions'), places,
                                () => functions.chosen(), (abort, work) => functions.ask(abort, work));
    this.source = new SourceView(core);
    core.commands.register({
      source: () => {
        if (this.functions.opened.value) this.functions.close();
        else this.source.open.value = !this.source.open.value;
      },
      functions: () => {
        this.source.open.value = false;
        this.functions.showTable();
      },
    });
  }

  start(): void {
    this.functions.start();
    if (this.core.client.backend.hasTrace) this.tree.start();
  }
}
