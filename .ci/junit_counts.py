#!/usr/bin/env python3
"""Prints "passed failed skipped" of a JUnit file written by ctest."""

import sys
import xml.etree.ElementTree as ElementTree


def main():
    suite = ElementTree.parse(sys.argv[1]).getroot()
    cases = suite.findall("testcase")
    skipped = sum(case.find("skipped") is not None for case in cases)
    failed = sum(case.get("status") == "fail" or
                 case.find("failure") is not None for case in cases)
    print(len(cases) - failed - skipped, failed, skipped)


if __name__ == "__main__":
    main()
