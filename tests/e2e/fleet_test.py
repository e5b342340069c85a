#!/usr/bin/env python3
"""The two commands of docs/fleet.md: three hosts in network namespaces, each
recorded, and their traces in a ClickHouse server, from which each report is, digit for
digit, that of the file.

usage: fleet_test.py COUNTRACE THREE_HOSTS SOURCE_FOLDER
"""
import os
import pathlib
import re
import subprocess
import sys
import unittest

import trace_checks


class Fleet(trace_checks.Recording):
    three_hosts = source = None  # set by main

    def commands(self):
        """Those of the document, with this test's programs and folder."""
        text = (self.source / 'docs/fleet.md').read_text()
        commands = re.findall(r'^    (examples/.*)$', text, re.M)
        self.assertEqual(len(commands), 2, commands)
        for name, path in (
                ('build/dev/cli/countrace', self.countrace_program),
                ('build/dev/examples/three_hosts/three_hosts', self.three_hosts),
                (' fleet', f' {self.work}/fleet')):
            commands = [command.replace(name, str(path)) for command in commands]
        return commands

    def test_reports_from_the_server_are_those_of_the_files(self):
        self.needs_root()
        self.needs('ip', 'clickhouse-server')
        trial = f'countrace{os.getpid()}'
        if trace_checks.run('ip', 'netns', 'add', trial).returncode != 0:
            self.skipTest('SKIPPED: ip cannot make network namespaces here')
        trace_checks.run('ip', 'netns', 'del', trial)
        for command in self.commands():
            done = subprocess.run(command, shell=True, cwd=self.source, text=True,
                                  capture_output=True, timeout=600, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for host in 'abc':
            trace = self.work / 'fleet' / f'{host}.ctf'
            report = self.countrace('report', '--by', 'segment', trace).stdout
            self.assertIn('rpc:handle', report)
            self.assertIn(report, done.stdout)


if __name__ == '__main__':
    Fleet.countrace_program = pathlib.Path(sys.argv[1])
    Fleet.three_hosts, source = sys.argv[2:4]
    Fleet.source = pathlib.Path(source)
    unittest.main(argv=sys.argv[:1], verbosity=2)
