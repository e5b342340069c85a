import {differsInEnd} from '../../../viewer/web/src/core/event_labels';

test('names of which the first ten letters are equal differ in their ends', () => {
  const power2 = ['power2-fpu-15-0', 'power2-fpu-15-1', 'power2-fxu-15-0', 'power2-cycles'];
  expect(power2.map((name) => differsInEnd(name, power2))).toEqual([true, true, false, false]);
  const software = ['task-clock', 'page-faults', 'context-switches'];
  expect(software.map((name) => differsInEnd(name, software))).toEqual([false, false, false]);
});
