// What pprof-format finds in files of pprof: the types of values, and the sums of
// each stack's. usage: node read_profiles.mjs FILE... > JSON
import {readFileSync} from 'node:fs';
import {gunzipSync} from 'node:zlib';
import {Profile} from 'pprof-format';

const found = {};
for (const file of process.argv.slice(2)) {
  const bytes = readFileSync(file);
  const profile = Profile.decode(bytes[0] === 0x1f ? gunzipSync(bytes) : bytes);
  const text = (index) => profile.stringTable.strings[Number(index)];
  const names = new Map(profile.function.map((one) => [one.id, text(one.name)]));
  // Innermost lines are first, as locations are.
  const frames = new Map(profile.location.map(({id, line}) => [id, line.map((one) => names.get(one.functionId))]));
  const stacks = {};
  for (const {locationId, value} of profile.sample) {
    const stack = locationId.flatMap((id) => frames.get(id)).reverse().join('\n');
    const before = stacks[stack] ?? value.map(() => 0n);
    stacks[stack] = value.map((one, i) => before[i] + BigInt(one));
  }
  found[file] = {
    types: profile.sampleType.map(({type, unit}) => [text(type), text(unit)]),
    rows: profile.sample.length,
    stacks: Object.entries(stacks).map(([stack, value]) => [stack.split('\n'), value.map(String)]),
  };
}
console.log(JSON.stringify(found));
