#!/usr/bin/env python3
"""Runs a command and writes what the kernel's own accounts say of it and of
everything it started, also of daemons.

usage: measured.py GATE RESULT COMMAND [ARGUMENTS...]

Waits until GATE (a fifo, or - for none) is written. RESULT becomes JSON.
Exits with the command's status.
"""
import ctypes
import json
import os
import resource
import sys

PR_SET_CHILD_SUBREAPER = 36


def main():
    gate, result, *command = sys.argv[1:]
    # Daemons become children of this process instead of init's.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if gate != '-':
        with open(gate, encoding='utf-8') as fifo:
            fifo.read()
    child = os.posix_spawnp(command[0], command, os.environ)
    processes = 0
    status = None
    while True:
        try:
            pid, ended = os.wait()
        except ChildProcessError:
            break
        processes += 1
        if pid == child:
            status = os.waitstatus_to_exitcode(ended)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(result, 'w', encoding='utf-8') as file:
        json.dump({'cpu_ns': round((used.ru_utime + used.ru_stime) * 1e9),
                   'faults': used.ru_minflt + used.ru_majflt,
                   'waited_for': processes}, file)
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == '__main__':
    main()
