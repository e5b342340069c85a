// Re-renders a component when the signals it names change.
import type {ReadonlySignal} from '@preact/signals-core';
import {useEffect, useState} from 'preact/hooks';

export function useSignal<T>(source: ReadonlySignal<T>): T {
  const [, render] = useState(0);
  useEffect(() => {
    let first = true;
    return source.subscribe(() => {
      // subscribe() calls at once; that value is rendered already.
      if (first) first = false;
      else render((count) => count + 1);
    });
  }, [source]);
  return source.peek();
}
