"""Each option of `record` that meets each other one: what it adds to the command
line, and what it makes of the recording. `OPTIONS` at the end; `REFUSED`: pairs
that the program refuses, with its words.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Option:
    name: str
    kernel: tuple = ()   # words of --kernel
    hooks: tuple = ()    # of --hook; {program} is the file, {name} its provider
    samples: tuple = ()  # of --sample
    # Options that are given once: name to value, '' for none.
    single: tuple = ()
    scope: str = ''      # who is recorded: command, pid, all, mark
    prefix: tuple = ()   # the program is started by it
    needs: str = ''      # another option that it means nothing without
    mode: str = ''       # of what is counted: user, kernel


SETS = 'exec-runtime,{page-faults},{minor-faults}'
HOOK_SETS = 'page-faults,{minor-faults},{context-switches,task-clock}'

# In a cgroup with a CPU quota: the program joins it, as a container's would.
JOIN = ('sh', '-c', 'echo $$ >{quota}/cgroup.procs; exec "$@"', 'sh')

OPTIONS = (
    *(Option(word, kernel=(word,)) for word in
      ('syscalls', 'faults', 'irq', 'softirq', 'block', 'wakeups')),
    Option('sample', samples=('997',)),
    Option('each', samples=('every=1:page-faults',)),
    Option('offcpu', single=(('--offcpu', '1ms'),)),
    Option('dwarf', single=(('--call-graph', 'dwarf'),), needs='sample'),
    Option('hook-events', single=(('--hook-events', 'page-faults'),)),
    Option('hook-sets', single=(('--hook-events', HOOK_SETS), ('--rotate', 'instance'))),
    Option('sets', single=(('-e', SETS),)),
    Option('rotate', single=(('--rotate', '2ms'),), needs='sets'),
    Option('dump', single=(('--dump', 'every 2'),), needs='hook-events'),
    Option('user', single=(('--count', 'user'),), mode='user'),
    Option('kernel', single=(('--count', 'kernel'),), mode='kernel'),
    Option('mark', single=(('-a', ''), ('--mark', '{comm}')), scope='mark'),
    Option('p', scope='pid'),
    Option('a', single=(('-a', ''),), scope='all'),
    Option('uprobe', hooks=('uprobe:{program}:ProbedFunction',)),
    Option('usdt', hooks=('usdt:{program}:{provider}:query*',)),
    Option('tracepoint', hooks=('tracepoint:sched:sched_process_fork',)),
    Option('flight', single=(('--flight', '64M'),)),
    Option('small-ring', single=(('--kernel-ring', '16K'),)),
    Option('max-cpu', single=(('--max-cpu', '0.2%'),)),
    Option('wait-all', single=(('--wait-all', ''),)),
    Option('perf', single=(('--backend', 'perf'),)),
    Option('quota', prefix=JOIN),
    Option('namespace', prefix=('unshare', '-pfm', '--kill-child', '--mount-proc')),
)
BY_NAME = {option.name: option for option in OPTIONS}

# Not recorded with one mode, nor with the perf back end.
ACCOUNT = 'exec-runtime,'
# With the perf back end, these need BPF.
KERNEL_SIDE = ('syscalls', 'faults', 'irq', 'softirq', 'block', 'wakeups',
               'uprobe', 'usdt', 'tracepoint')
NO_KERNEL_SIDE = ('Kernel segments, wake-ups and dynamic hooks need the BPF back '
                  'end: leave out --backend perf')
REFUSED = {
    **{frozenset((name, 'perf')): NO_KERNEL_SIDE for name in KERNEL_SIDE},
    frozenset(('wakeups', 'dump')):
        'A dump rule (--dump) selects the hooks that carry counters',
    **{frozenset(('hook-sets', mode)):
       'context-switches cannot be split into user and kernel mode, and --count '
       f'{mode} needs one' for mode in ('user', 'kernel')},
    **{frozenset((name, 'user')): f'--kernel {name} records kernel code, which --count '
                                  'user excludes: remove one of the two'
       for name in KERNEL_SIDE[:5]},
    frozenset(('max-cpu', 'perf')):
        '--max-cpu measures and thins BPF programs: leave out --backend perf',
    frozenset(('max-cpu', 'offcpu')):
        '--max-cpu and --offcpu contradict each other: leave out one',
    frozenset(('offcpu', 'perf')):
        'Stacks off CPU (--offcpu) need the BPF back end: leave out --backend perf',
}


class Pair:
    """One or two options as one recording."""

    def __init__(self, names):
        self.names = tuple(names)
        self.options = [BY_NAME[name] for name in names]
        for option in tuple(self.options):
            if option.needs and not self.has_what(option.needs):
                self.options.append(BY_NAME[option.needs])
        self.all_names = {option.name for option in self.options}

    def has_what(self, needed):
        """Whether an option is there that `needed` would stand for."""
        own = [option for option in self.options]
        if needed == 'sample':  # --call-graph
            return any(option.name in ('sample', 'each', 'offcpu') for option in own)
        if needed == 'hook-events':  # --dump
            return any(option.kernel or option.hooks or
                       option.name in ('hook-events', 'hook-sets') for option in own)
        return any(option.name == needed for option in own)

    def __str__(self):
        return ','.join(self.names)

    @property
    def excluded(self):
        """Why the two are no pair: they are one option with two values."""
        seen = {}
        for option in self.options:
            for flag, value in option.single:
                if seen.setdefault(flag, value) != value:
                    return f'{flag} has one value'
        scopes = {option.scope for option in self.options if option.scope}
        return 'one recording has one scope' if len(scopes) > 1 else None

    @property
    def refusal(self):
        return REFUSED.get(frozenset(self.names))

    @property
    def scope(self):
        return next((option.scope for option in self.options if option.scope),
                    'command')

    @property
    def whole_machine(self):
        """--count with a mode names no mark: it counts all processes."""
        return bool(self.mode) or self.scope in ('all', 'mark')

    @property
    def prefix(self):
        return [word for option in self.options for word in option.prefix]

    @property
    def kernel(self):
        return [word for option in self.options for word in option.kernel]

    @property
    def mode(self):
        return next((option.mode for option in self.options if option.mode), '')

    def has(self, *names):
        return any(name in self.all_names for name in names)

    def words(self, program, provider):
        """The options of `record`; -p's value is the caller's."""
        values = {'program': program, 'provider': provider, 'comm': program.name}
        words = []
        if self.kernel:
            words += ['--kernel', ','.join(self.kernel)]
        for option in self.options:
            for hook in option.hooks:
                words += ['--hook', hook.format(**values)]
            for sample in option.samples:
                words += ['--sample', sample]
        single = {}
        for option in self.options:
            single.update(option.single)
        for flag, value in single.items():
            if self.mode or self.has('perf'):
                value = value.replace(ACCOUNT, '')
            words.append(flag)
            if value:
                words.append(value.replace('{comm}', program.name))
        return words


def every_pair():
    names = [option.name for option in OPTIONS]
    for i, first in enumerate(names):
        yield Pair((first,))
        for second in names[i + 1:]:
            yield Pair((first, second))
    yield Pair(('syscalls', 'wakeups', 'small-ring', 'quota'))
    # Limits hold the truth of all others, too.
    for name in names:
        if name not in ('syscalls', 'wakeups', 'small-ring', 'quota', 'dump', 'perf',
                        'user'):
            yield Pair(('syscalls', 'wakeups', 'small-ring', name))
    for name in ('sample', 'flight', 'hook-events', 'a', 'p', 'mark', 'small-ring',
                 'namespace', 'sets'):
        yield Pair(('syscalls', 'faults', 'wakeups', 'max-cpu', name))
    # Losses concern what two kernel words say of one thread.
    words = [option.name for option in OPTIONS if option.kernel]
    for i, first in enumerate(words):
        for second in words[i + 1:]:
            yield Pair((first, second, 'small-ring'))


# What `.ci/run` records, and on which programs: each option, and each pair that
# ever failed or stands for a kind that did.
CHOICE = (
    # Walks of user stacks and page faults: T1.
    ('faults,sample', 'calls ring'),
    ('faults,offcpu', 'calls waits'),
    ('faults,dwarf', 'calls'),
    ('faults,each', 'calls'),
    # Threads that the kernel makes: K1.
    ('syscalls,namespace', 'ring waits'),
    ('sample,p', 'ring calls'),
    ('mark,wakeups', 'ring waits'),
    ('usdt,flight', 'ring calls'),
    # Numbers of another pid namespace: X3, X4.
    ('perf,namespace', 'calls waits'),
    ('p,namespace', 'ring waits'),
    # Losses: D4, T6.
    ('syscalls,small-ring', 'waits ring'),
    ('syscalls,wakeups,small-ring', 'waits ring calls'),
    ('faults,small-ring', 'disk'),
    ('syscalls,wakeups,small-ring,sample', 'disk'),
    ('syscalls,wakeups,small-ring,sets', 'disk'),
    # Waits for a disk: D2.
    ('irq,wakeups', 'disk'),
    # CPU quotas, without losses and with: K3.
    ('wakeups,quota', 'calls waits ring disk'),
    ('syscalls,wakeups,small-ring,quota', 'calls waits ring'),
    ('perf,quota', 'calls'),
    # The others, once at least.
    ('a,wakeups', 'waits calls'),
    ('irq,softirq', 'calls waits'),
    ('block,each', 'calls'),
    ('hook-events,dump', 'calls'),
    ('hook-sets,sample', 'calls'),
    ('sets,rotate', 'calls waits'),
    ('user,hook-events', 'calls'),
    ('kernel,hook-events', 'calls'),
    ('uprobe,tracepoint', 'calls waits'),
    ('perf,sample', 'calls waits'),
    ('perf,syscalls', 'calls'),
    ('dwarf,wakeups', 'waits'),
    ('wait-all,syscalls', 'waits'),
    ('a,hook-events', 'calls'),
    ('irq,small-ring', 'calls'),
    # What is left out is a loss, too.
    ('syscalls,max-cpu', 'calls waits ring'),
    ('syscalls,faults,wakeups,max-cpu', 'disk calls'),
    ('syscalls,wakeups,small-ring,max-cpu', 'waits ring'),
    ('faults,sample,max-cpu', 'calls'),
    ('max-cpu,flight', 'calls'),
)


def fixed_choice():
    """(pair, programs) to record."""
    missing = set(BY_NAME) - {name for names, _ in CHOICE for name in names.split(',')}
    if missing:
        raise AssertionError(f'no pair of the choice has {sorted(missing)}')
    return [(Pair(names.split(',')), programs.split()) for names, programs in CHOICE]
