// Code: the functions that samples are of, and the lines of the open segments.

import type {Core} from '../core/core';
import type {RangeTables} from '../tables/range_tables';
import {Functions} from './functions';
import {SourceView} from './source_view';

export class Code {
  readonly functions: Functions;
  readonly source: SourceView;

  constructor(readonly core: Core, readonly ranges: RangeTables) {
    this.functions = new Functions(core, ranges);
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
  }
}
