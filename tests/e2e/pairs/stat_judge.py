"""`countrace stat` on the same programs: its numbers are those of the command with
its children, and of each process.
"""
import json
import subprocess

from judge import EXIT_FAULTS, EXIT_NS, Judge
from recording import NOT_HERE, TIMEOUT, Failed, NotHere

# What stat has of the options: none, event sets, the machine.
STAT = {'stat': (), 'stat,rotate': ('-e', 'exec-runtime,{page-faults},{minor-faults}'),
        'stat,namespace': ()}
PREFIX = {'stat,namespace': ('unshare', '-pfm', '--kill-child', '--mount-proc')}


class StatJudge(Judge):
    """Reads what stat wrote, in place of a report."""

    def __init__(self, countrace, program, name, folder):
        self.countrace, self.program, self.name = countrace, program, name
        self.folder = folder
        self.wrong, self.wrong_times, self.intervals = [], {}, []
        self.checked = 0

    def run(self):
        result = self.folder / 'stat.json'
        done = subprocess.run(
            [str(self.countrace), 'stat', '--json', '--by', 'process', '-o', str(result),
             *STAT[self.name], '--', *PREFIX.get(self.name, ()), str(self.program)],
            text=True, capture_output=True, timeout=TIMEOUT, check=False,
            stdin=subprocess.DEVNULL, cwd=self.folder)
        if done.returncode == 77:
            raise NotHere(NOT_HERE.get(self.program.name.removeprefix('pairs_')))
        if done.returncode != 0:
            raise Failed(f'status {done.returncode}: {done.stderr}')
        self.truth = json.loads(done.stdout)
        self.data = json.loads(result.read_text())

    def judge(self):
        numbers = {row['name']: row for row in self.data['numbers']}
        children = self.truth.get('children_cpu_ns', 0)
        processes = self.truth['processes'] + bool(self.name in PREFIX)
        least, most = (cpu + children for cpu in self.truth['cpu_ns'])
        most += most // 100 + EXIT_NS * processes
        account = numbers['exec-runtime']['value']
        between = abs(numbers['on-cpu']['value'] - account)
        for name, tolerance in (('on-cpu', between), ('exec-runtime', least // 50)):
            self.time_meets(f'stat {name}', self.stat_number(numbers[name]), (least, most),
                            tolerance)
        for name in ('page-faults', 'minor-faults'):
            if name not in numbers:
                continue
            row = numbers[name]
            # Those of children are seldom in the program's truth.
            more = self.truth.get('children_faults', 0)
            truth = (self.truth['faults'][0], self.truth['faults'][1] + EXIT_FAULTS +
                     more + 250 * (processes - 1))
            if row['quality'] == 'scaled':
                lo, hi = self.stat_number(row)
                self.intervals.append((f'stat {name}: [{lo}, {hi}], truth {truth}',
                                       lo <= truth[1] and hi >= truth[0]))
            else:
                self.meets(f'stat {name}', self.stat_number(row), truth)
        # By the kernel's ticks: the two together are all of on-cpu.
        both = sum(numbers[name]['value'] for name in ('user', 'system'))
        self.meets('stat user and system', (both, both), self.stat_number(numbers['on-cpu']))
        rows = self.data['processes']
        self.meets('stat processes', (len(rows),) * 2, (processes, processes))
        whole = sum(row['counts']['exec-runtime'] for row in rows)
        self.meets('exec-runtime of all processes', (whole, whole), (account, account))

    @staticmethod
    def stat_number(row):
        return row.get('lo', row['value']), row.get('hi', row['value'])
