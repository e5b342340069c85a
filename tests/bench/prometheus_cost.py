#!/usr/bin/env python3
"""What `countrace stat -a --prometheus` costs: CPU time of its threads and of
its BPF programs, by the kernel's own measures, beside what it says itself.

usage: prometheus_cost.py BUILD [--seconds S] [--every S] [--file]

The kernel's measure makes each run of a BPF program dearer: the line "says" is
of the same time, so some of it is the measure. With --file it writes a file
instead of answering scrapes.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'e2e'))
import recorder_cost  # noqa: E402


def own_seconds(text):
    return sum(float(line.rpartition(' ')[2]) for line in text.splitlines()
               if line.startswith('countrace_own_cpu_seconds_total'))


def switches():
    return int(re.search(r'(?m)^ctxt (\d+)',
                         pathlib.Path('/proc/stat').read_text()).group(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build', type=pathlib.Path)
    parser.add_argument('--seconds', type=float, default=60)
    parser.add_argument('--every', type=float, default=15)
    parser.add_argument('--file', action='store_true')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        file = pathlib.Path(work, 'x.prom')
        where = [file, '--every', f'{options.every}s'] if options.file else [':0']
        with recorder_cost.measured_programs(), subprocess.Popen(
                [options.build / 'cli/countrace', 'stat', '-a', '--prometheus',
                 *where], stderr=subprocess.PIPE, text=True) as process:
            url = None if options.file else re.search(
                r'http://\S+/metrics', process.stderr.readline()).group()

            def read():
                if url is None:
                    return own_seconds(file.read_text())
                with urllib.request.urlopen(url, timeout=60) as answer:
                    return own_seconds(answer.read().decode())
            while options.file and not file.exists():
                time.sleep(0.01)
            said, switched = read(), switches()
            threads = recorder_cost.process_ns(process.pid)
            programs = recorder_cost.programs_ns(process.pid)
            begun = time.monotonic()
            while time.monotonic() < begun + options.seconds:
                time.sleep(options.every)
                now_said = read()
            passed = time.monotonic() - begun
            threads = recorder_cost.process_ns(process.pid) - threads
            programs = recorder_cost.programs_ns(process.pid) - programs
            process.terminate()
    rate = (switches() - switched) / passed
    print(f'{passed:.1f} s, {rate:,.0f} switches/s, '
          f'{"a file" if options.file else "a scrape"} each {options.every:g} s')
    for what, seconds in (('threads', threads / 1e9),
                          ('BPF programs', programs / 1e9),
                          ('both', (threads + programs) / 1e9),
                          ('says', now_said - said)):
        print(f'{what:<12} {1e3 * seconds:8.2f} ms  '
              f'{100 * seconds / passed:.4f} % of a CPU')


if __name__ == '__main__':
    main()
