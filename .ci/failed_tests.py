#!/usr/bin/env python3
"""Prints the end of what each failed test of JUnit files said: the last page of
a long log then shows why a run failed.

usage: failed_tests.py JUNIT...
"""
import os
import sys
import xml.etree.ElementTree as ElementTree

LINES = 40  # of a test


def main():
    for path in filter(os.path.exists, sys.argv[1:]):
        for case in ElementTree.parse(path).getroot().iter('testcase'):
            if case.get('status') != 'fail':
                continue
            said = (case.findtext('system-out') or '').rstrip().splitlines()
            print(f'--- {case.get("name")} ({path}), its last {LINES} lines:')
            print('\n'.join(said[-LINES:]))


if __name__ == '__main__':
    main()
