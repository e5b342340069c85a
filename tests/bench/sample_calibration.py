#!/usr/bin/env python3
"""How often the 95 % intervals of sampled shares hold the truth: records a program
whose functions have known shares of CPU time, of page faults and of calls of
malloc, and compares.

usage: sample_calibration.py BUILD [--runs N] [--kind cpu|pages|allocations]...

Of each function, that many runs; the functions of one run are not independent.
`error` is the root of the mean square of measured minus true share, in standard
errors of a binomial share: 1 if samples are independent, less if they are more
regular. `bias` is their mean in the same unit, with its own error. It asserts
nothing. Needs root, and tracefs.
"""
import argparse
import math
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'e2e'))
from known_shares import FUNCTIONS, KINDS, KnownShares, standard_error  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('build', type=pathlib.Path)
    parser.add_argument('--runs', type=int, default=100)
    parser.add_argument('--kind', action='append', choices=list(KINDS))
    wanted = parser.parse_args()
    build = wanted.build.resolve()
    with tempfile.TemporaryDirectory(prefix='countrace-bench-') as name:
        known = KnownShares(build / 'cli/countrace', build / 'tests/e2e/shares_workload',
                            pathlib.Path(name))
        try:
            for kind in wanted.kind or KINDS:
                held = {function: 0 for function in FUNCTIONS}
                errors = {function: [] for function in FUNCTIONS}
                samples = []
                for seed in range(wanted.runs):
                    for function, (true, measured, low, high, hits) in zip(
                            FUNCTIONS, known.shares(kind, seed)):
                        held[function] += low <= true <= high
                        errors[function].append((measured - true) / standard_error(true, hits))
                    samples.append(hits)
                every = [error for one in errors.values() for error in one]
                print(f'{kind}, {statistics.median(samples):.0f} samples a run: of '
                      f'{wanted.runs} intervals hold the truth ' +
                      ', '.join(f'{count} ({function})' for function, count in held.items()) +
                      f'; error {math.sqrt(statistics.mean(e * e for e in every)):.2f}, bias ' +
                      ', '.join(f'{statistics.mean(one):+.2f}' for one in errors.values()) +
                      f' +- {1 / math.sqrt(wanted.runs):.2f}', flush=True)
        finally:
            known.close()


if __name__ == '__main__':
    main()
