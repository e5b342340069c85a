// Whether the system requests less motion.
import {signal} from '@preact/signals-core';

const query = matchMedia('(prefers-reduced-motion: reduce)');
export const reducedMotion = signal(query.matches);
query.addEventListener('change', () => (reducedMotion.value = query.matches));
