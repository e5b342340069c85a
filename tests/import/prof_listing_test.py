#!/usr/bin/env python3
"""The profiles that the R10000's paper prints, imported as a perf.data file with these
overflows as samples: `report --by function` has their numbers and percentages.

Usage: prof_listing_test.py COUNTRACE CC. The listings: prof_md.txt.
"""
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from perf_file import CPU, IP, PERIOD, SAMPLE_ID_ALL, TID, TIME

COUNTRACE = CC = ''
LISTINGS = (pathlib.Path(__file__).parent / 'prof_md.txt').read_text().split('\n\n')
ROW = re.compile(r'(?m)^ *(\d+)\( *(\d+\.\d)\)\s+(\d+)\( *(\d+\.\d)\)\s+(\w+) \((\S+):')
PID = 12133  # md.gfp_hwc.12133
KIND = IP | TID | TIME | CPU | PERIOD
PAGE = 4096


def rows_of(listing):
    """(overflows, percent, cumulative, cumulative percent, procedure, file) of each."""
    return [(int(hits), percent, int(total), of_all, name, file)
            for hits, percent, total, of_all, name, file in ROW.findall(listing)]


def percent(part, total):
    return f'{100 * part / total:.1f}'


class PerfData:
    """A file as `perf record -e instructions -c PERIOD` writes it, of one CPU."""

    def __init__(self, period):
        self.period = period
        self.records = []
        self.time = 10**9

    def add(self, kind, misc, body):
        self.time += 1000
        trailer = b'' if kind == 9 else struct.pack('<IIQII', PID, PID, self.time, 0, 0)
        self.records.append(struct.pack('<IHH', kind, misc, 8 + len(body) + len(trailer)) + body +
                            trailer)

    def name(self, comm):
        self.add(3, 0, struct.pack('<II16s', PID, PID, comm.encode()))

    def map(self, start, size, file):
        path = str(file).encode() + b'\0'
        path += b'\0' * (-len(path) % 8)
        self.add(1, 2, struct.pack('<IIQQQ', PID, PID, start, size, 0) + path)

    def sample(self, address):
        self.time += 1000
        body = struct.pack('<QIIQIIQ', address, PID, PID, self.time, 0, 0, self.period)
        self.records.append(struct.pack('<IHH', 9, 2, 8 + len(body)) + body)

    def write(self, file):
        # struct perf_event_attr: type, size, config, period, sample_type, read_format, flags;
        # a counted event of a PMU (instructions), with mappings and names.
        flags = 1 << 8 | 1 << 9 | SAMPLE_ID_ALL
        attr = struct.pack('<IIQQQQQ', 0, 136, 1, self.period, KIND, 0, flags)
        attr += b'\0' * (136 - len(attr)) + struct.pack('<QQ', 0, 0)
        data = b''.join(self.records)
        head = struct.pack('<8sQQQQQQQQ', b'PERFILE2', 104, len(attr), 104, len(attr),
                           104 + len(attr), len(data), 0, 0) + b'\0' * 32
        file.write_bytes(head + attr + data)


class ProfListing(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='countrace-prof-'))
        self.addCleanup(shutil.rmtree, self.folder)

    def imported(self, listing, period, not_listed=0):
        """Rows of the report by function, by name, of a trace with these overflows."""
        data = PerfData(period)
        data.name('md')
        addresses = {}
        for number, file in enumerate(sorted({row[5] for row in listing})):
            names = [row[4] for row in listing if row[5] == file]
            source = self.folder / f'{number}.c'
            source.write_text(''.join(f'int {name}(void) {{ return {i}; }}\n'
                                      for i, name in enumerate(names)))
            built = self.folder / pathlib.Path(file).name
            subprocess.run([CC, '-O1', '-fno-builtin', '-shared', '-nostdlib', '-fPIC', source,
                            '-o', built], check=True)
            start = 0x10000000 * (number + 1)
            data.map(start, (built.stat().st_size // PAGE + 1) * PAGE, built)
            symbols = subprocess.run(['nm', built], capture_output=True, text=True,
                                     check=True).stdout
            for address, name in re.findall(r'(?m)^([0-9a-f]+) T (\w+)$', symbols):
                addresses[name] = start + int(address, 16)
        # In the order of a program, not of the listing.
        left = {row[4]: row[0] for row in listing}
        left['not listed'] = not_listed
        while any(left.values()):
            for name in left:
                if left[name]:
                    left[name] -= 1
                    data.sample(addresses.get(name, 0x70000000))
        file, trace = self.folder / 'perf.data', self.folder / 'md.ctf'
        data.write(file)
        subprocess.run([COUNTRACE, 'import', file, '-o', trace], check=True, capture_output=True)
        done = subprocess.run([COUNTRACE, 'report', '--by', 'function', '--rows', '0', '--format',
                               'json', trace], check=True, capture_output=True)
        return {row['function']: row for row in json.loads(done.stdout)['rows']}

    def check(self, listing, rows, total):
        for hits, of_all, _, _, name, file in listing:
            row = rows[name]
            self.assertEqual(hits, row['self_samples'], name)
            self.assertEqual(pathlib.Path(file).name, row['dso'])
            self.assertEqual(of_all, f"{100 * row['self_share']:.1f}", name)
        ranked = sorted((row['self_samples'] for name, row in rows.items()
                         if name != '[unknown]'), reverse=True)
        for count, (_, _, cumulative, of_all, _, _) in enumerate(listing, 1):
            self.assertEqual(cumulative, sum(ranked[:count]))
            self.assertEqual(of_all, percent(cumulative, total))

    def test_the_first_listing(self):
        listing = rows_of(LISTINGS[0])
        period = int(re.search(r'overflow value: (\d+)', LISTINGS[0])[1])
        total = int(re.search(r'Total number of ovfls : (\d+)', LISTINGS[0])[1])
        self.assertEqual(12, len(listing))
        self.assertEqual(total, sum(row[0] for row in listing))
        # A prime: 2^15 + 3.
        self.assertTrue(all(period % i for i in range(2, 182)))
        rows = self.imported(listing, period)
        self.check(listing, rows, total)
        self.assertEqual(total * period, sum(row['self'] for row in rows.values()))
        self.assertEqual(3_163_056_920, total * period)

    def test_the_second_listing_has_one_possible_total(self):
        listing = rows_of(LISTINGS[1])
        self.assertEqual(14, len(listing))
        listed = sum(row[0] for row in listing)
        self.assertEqual(3480, listed)
        totals = [total for total in range(listed, 2 * listed)
                  if all(percent(hits, total) == of_all and percent(cumulative, total) == so_far
                         for hits, of_all, cumulative, so_far, _, _ in listing)]
        self.assertEqual([3515], totals)
        rows = self.imported(listing, 67, not_listed=totals[0] - listed)
        self.check(listing, rows, totals[0])
        self.assertEqual(35, rows['[unknown]']['self_samples'])


if __name__ == '__main__':
    COUNTRACE, CC = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
