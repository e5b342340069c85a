"""How long a command waits until its recording begins, and how long the
recorder takes to finish after it, for five sets of options, beside perf."""
import statistics
import subprocess
import time

ALL = 'wakeups,syscalls,irq,softirq,faults,block'
PERF_ALL = ('sched:sched_switch,sched:sched_wakeup,raw_syscalls:*,irq:*,'
            'irq_vectors:local_timer_*,irq_vectors:reschedule_*,'
            'irq_vectors:call_function*,exceptions:*,block:block_rq_*')
SAMPLES = ('--sample', '99', '--offcpu', '1ms')
PERF_SAMPLES = ('-g', '-e', 'cpu-clock/freq=99/')
# (name, options of countrace record, of perf record, of perf trace or None)
SETS = (
    ('hooks alone', ('--no-kernel',), ('-e', 'cpu-clock'), None),
    ('dispatches', (), ('-a', '-e', 'sched:sched_switch'), None),
    ('system calls', ('--kernel', 'syscalls'), ('-a', '-e', 'raw_syscalls:*'),
     ()),
    ('everything', ('--kernel', ALL, *SAMPLES),
     ('-a', '-e', PERF_ALL, *PERF_SAMPLES), ('-a', '-F', 'all')),
    # perf places its uprobes by a command of its own, beforehand.
    ('everything, a uprobe', ('--kernel', ALL, *SAMPLES, '--hook'),
     ('-a', '-e', PERF_ALL, *PERF_SAMPLES), None),
)

def begin_and_end(command):
    """Seconds from the recorder's start to the command, and from there to the
    recorder's end."""
    start = time.time()
    result = subprocess.run([*map(str, command), '--', 'date', '+%s.%N'],
                            capture_output=True, text=True, timeout=120,
                            check=True)
    end = time.time()
    began = float(result.stdout.split()[0])
    return began - start, end - began


def measure(build, work, runs):
    """Rows of (set, peer, our begin, its begin, our end, its end), medians in
    s. Recorder and peer take turns."""
    countrace, trace = build / 'cli/countrace', work / 'begin.ctf'
    hook = f'uprobe:{build}/tests/e2e/probed_workload:stepped_300'
    for name, ours, record, watch in SETS:
        if ours and ours[-1] == '--hook':
            ours = (*ours, hook)
        commands = {
            '': (countrace, 'record', '-q', '--force', '-o', trace, *ours),
            'perf record': ('perf', 'record', '-q', '-o', work / 'perf.data',
                            *record)}
        if watch is not None:
            commands['perf trace'] = ('perf', 'trace', '-o', work / 'perf.txt',
                                      *watch)
        times = {of: [] for of in commands}
        for _ in range(runs + 1):  # the first one reads files, and is left out
            for of, command in commands.items():
                times[of].append(begin_and_end(command))
        begins, ends = ({of: statistics.median(pair[i] for pair in pairs[1:])
                         for of, pairs in times.items()} for i in (0, 1))
        for of in list(commands)[1:]:
            yield name, of, begins[''], begins[of], ends[''], ends[of]
