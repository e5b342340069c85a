// Whether what the page shows of an instant is what `countrace state` prints.
import assert from 'node:assert/strict';

// `api` gives an answer of API.md. Resolves with a function that compares the
// page's state with the output of `state --all --format jsonl`.
export async function comparison(api) {
  const {begin_ns, events} = await api('trace');
  const begin = Number(begin_ns);
  const threads = (await api('threads')).items;
  const hooks = (await api('hooks')).items;
  const hookOf = (number) => hooks.find((item) => item.hook === number).name;
  // JSON numbers beyond 2^53 are rounded: so are these.
  const clock = (ns) => ns === null || ns === undefined ? ns ?? null : begin + ns;
  const near = (a, b, what) => assert.ok(a === b || Math.abs(a - b) <= 512, `${what}: ${a} ${b}`);
  return (state, printed) => {
    assert.equal(printed.offset_ns, state.t);
    assert.equal(printed.cpus.length, state.cpus.length);
    for (const [i, cpu] of state.cpus.entries()) {
      const other = printed.cpus[i];
      assert.equal(other.account, !cpu.known ? 'unknown' : cpu.in_interrupt ? 'interrupts' :
          cpu.flags & 4 ? 'idle' : cpu.flags & 8 ? 'outside' : 'processes');
      assert.equal(other.tid, threads.find((item) => item.thread === cpu.thread)?.tid);
      if (cpu.known) near(other.since_ns, clock(cpu.begin_ns), 'since');
      if (cpu.known) near(other.until_ns, clock(cpu.end_ns), 'until');
      assert.equal(other.interrupts_ns, cpu.interrupts_ns);
      assert.deepEqual(other.interrupts.map((call) => call.segment), cpu.interrupts.map((call) => hookOf(call.hook)));
    }
    assert.equal(printed.in_loss, state.in_loss);
    for (const thread of state.threads) {
      const {tid, pid} = threads.find((item) => item.thread === thread.thread);
      const other = printed.threads.find((item) => item.tid === tid && item.pid === pid);
      for (const field of ['state', 'on_cpu_ns', 'wait_ns', 'dispatches']) assert.equal(other[field], thread[field], field);
      assert.equal(other.cpu, thread.last_cpu);
      near(other.since_ns, clock(thread.since_ns), 'since');
      for (const [i, count] of thread.counts.entries()) assert.equal(other.counts[events[i]].count, count.count);
      assert.deepEqual(other.segments.map((call) => [call.segment, call.inside_ns, call.on_cpu_ns]),
                       thread.open.map((call) => [hookOf(call.hook), state.t - call.begin_ns, call.on_cpu_ns]));
    }
    for (const [i, event] of state.events.entries()) {
      assert.equal(printed.events[events[i]].count, Math.floor(event.count));
      assert.equal(printed.events[events[i]].rate_per_s, event.rate);
      assert.equal(printed.events[events[i]].rate_quality, event.rate_estimated ? 'inferred' : 'exact');
    }
  };
}
