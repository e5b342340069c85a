#!/usr/bin/env python3
"""Prints the slowest tests of a JUnit file that ctest wrote.

Usage: slowest_tests.py JUNIT [COUNT]
"""

import sys
import xml.etree.ElementTree


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    cases = xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase")
    times = sorted(((float(case.get("time") or 0), case.get("name"))
                    for case in cases), reverse=True)
    print(f"\nThe {min(count, len(times))} slowest of {len(times)} tests, "
          f"{sum(time for time, _ in times):.0f} s in all:")
    for time, name in times[:count]:
        print(f"{time:8.1f} s  {name}")


if __name__ == "__main__":
    main()
