#!/usr/bin/env python3
"""A build without BPF links: what the recorder needs of kernel/bpf, the files
*_without.cc define.

Usage: without_bpf_test.py NM RECORDER_OBJECT... -- STAND_IN_OBJECT...
"""

import subprocess
import sys
import unittest

NM = sys.argv[1]
SPLIT = sys.argv.index('--')
RECORDER, STAND_INS = sys.argv[2:SPLIT], sys.argv[SPLIT + 1:]
BPF = [path for path in RECORDER if 'kernel/bpf/' in path]
OTHERS = [path for path in RECORDER if path not in BPF]


def symbols(objects):
    """What the objects define, and what they need."""
    defined, needed = set(), set()
    listing = subprocess.run([NM, '-P', *objects], check=True,
                             capture_output=True, text=True).stdout
    for line in listing.splitlines():
        fields = line.split()
        if len(fields) < 2:
            continue
        if fields[1] in 'Uw':
            needed.add(fields[0])
        elif fields[1].isupper() or fields[1] == 'u':
            defined.add(fields[0])
    return defined, needed


class WithoutBpf(unittest.TestCase):

    def test_stand_ins_define_what_the_recorder_needs(self):
        of_bpf, _ = symbols(BPF)
        elsewhere, needed = symbols(OTHERS)
        stand_ins, needed_by_them = symbols(STAND_INS)
        wanted = (needed | needed_by_them) & (of_bpf - elsewhere)
        self.assertTrue(any('OpenBpfKernelRecorder' in name for name in wanted),
                        wanted)
        self.assertEqual(set(), wanted - stand_ins)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
