"""How many exact frames of a replay a second of CPU time gives: of the page's
server, and of `countrace replay`."""
import json
import os
import re
import subprocess
import urllib.request

FRAMES = 120  # in a request: the most


def fork_storm(build, work, processes):
    """The whole machine with system calls and interrupts, while a shell starts
    programs all at once."""
    trace = work / 'storm.ctf'
    subprocess.run(
        [build / 'cli/countrace', 'record', '-q', '-a', '-o', trace,
         '--kernel', 'syscalls,irq,softirq,wakeups', '--', 'sh', '-c',
         f'for i in $(seq {processes}); do /bin/true & done; wait'],
        check=True, capture_output=True)
    return trace


def used(pid):
    """CPU time of a process so far, in s (proc(5), stat)."""
    with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def of_the_server(build, trace):
    """(frames per second of CPU time, processes of the trace)."""
    with subprocess.Popen([build / 'cli/countrace', 'view', '--no-progress',
                           trace], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as server:
        base, token = re.match(r'(http://[^/]+)/\?token=(\w+)',
                               server.stdout.readline()).groups()

        def call(name, body=None):
            request = urllib.request.Request(
                f'{base}/api/v1/{name}', body and json.dumps(body).encode(),
                {'Authorization': f'Bearer {token}',
                 'Content-Type': 'application/json'})
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)

        about = call('trace')
        times = [about['duration_ns'] * i // FRAMES for i in range(FRAMES)]
        begin, count = used(server.pid), 0
        while used(server.pid) - begin < 1:
            count += len(call('frames', {'times': times, 'threads': 12,
                                         'processes': 8})['frames'])
        rate = count / (used(server.pid) - begin)
        server.terminate()
    return rate, about['processes']


def of_the_terminal(build, trace, work):
    """The same of a film of 20 s."""
    cast = work / 'film.cast'
    begin = os.times()
    subprocess.run([build / 'cli/countrace', 'replay', '--no-progress',
                    '--record-cast', cast, trace], check=True)
    end = os.times()
    with open(cast, encoding='utf-8') as file:
        frames = sum(1 for _ in file) - 1
    return frames / (end.children_user - begin.children_user +
                     end.children_system - begin.children_system)
