#!/usr/bin/env python3
"""BPF programs keep the limits of Linux 6.1, which newer kernels have not.

usage: bpf_limits_test.py OBJECT.bpf.o...

A program and all functions that it calls have 512 bytes of stack together, and
only a jump may close a loop. The kernel of a developer's machine does not say.
"""

import collections
import struct
import sys
import unittest

STACK_BYTES = 512
CALL, EXIT, JUMP, LOAD_64 = 0x85, 0x95, 0x05, 0x18
OF_PROGRAM, OF_CALLBACK = 1, 4  # source registers of calls and addresses
FRAME = 10

Instruction = collections.namedtuple(
    "Instruction", "code target source offset value")


class Object:
    """The functions of an object: name -> instructions, calls to others."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        at, = struct.unpack_from("<Q", self.data, 40)
        count, = struct.unpack_from("<H", self.data, 60)
        # name, type, flags, address, offset, size, link, info, align, entry
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data,
                                            at + 64 * i) for i in range(count)]
        (table,) = [s for s in self.sections if s[1] == 2]
        self.symbols = [struct.unpack_from("<IBBHQQ", self.data, i) for i in
                        range(table[4], table[4] + table[5], 24)]
        names = self.sections[table[6]][4]
        self.functions, self.places = {}, {}
        for name, info, _, section, begin, size in self.symbols:
            if info & 15 != 2:
                continue
            end = self.data.index(b"\0", names + name)
            text = self.data[names + name:end].decode()
            self.places[section, begin] = text
            self.functions[text] = self.instructions(section, begin, size)
        self.callees = collections.defaultdict(set)
        self.find_calls()

    def instructions(self, section, begin, size):
        result = []
        first = self.sections[section][4] + begin
        for at in range(first, first + size, 8):
            code, registers, offset, value = struct.unpack_from(
                "<BBhi", self.data, at)
            result.append(Instruction(code, registers & 15, registers >> 4,
                                      offset, value))
        return result

    def find_calls(self):
        relocated = {}
        for section in self.sections:
            if section[1] != 9:  # SHT_REL
                continue
            for at in range(section[4], section[4] + section[5], 16):
                place, info = struct.unpack_from("<QQ", self.data, at)
                relocated[section[7], place] = self.symbols[info >> 32]
        for (section, begin), name in self.places.items():
            for i, one in enumerate(self.functions[name]):
                call = one.code == CALL and one.source == OF_PROGRAM
                symbol = relocated.get((section, begin + 8 * i))
                if symbol is None and not call:
                    continue
                if symbol is None:
                    to = section, begin + 8 * (i + one.value + 1)
                elif call:
                    to = symbol[3], symbol[4] + (
                        8 * (one.value + 1) if symbol[1] & 15 == 3 else 0)
                else:  # perhaps a callback's address
                    to = symbol[3], symbol[4] + (
                        one.value if symbol[1] & 15 == 3 else 0)
                if to in self.places:
                    self.callees[name].add(self.places[to])

    def own_stack(self, name):
        deepest, frames = 1, set()
        for one in self.functions[name]:
            if one.code == 0xbf:  # target = source
                frames.discard(one.target)
                if one.source == FRAME:
                    frames.add(one.target)
            elif one.code == 0x07 and one.target in frames:  # target += value
                deepest = max(deepest, -one.value)
            elif one.code & 7 in (2, 3) and one.target == FRAME or (
                    one.code & 7 == 1 and one.source == FRAME):
                deepest = max(deepest, -one.offset)
        return (deepest + 31) // 32 * 32

    def stack(self, name):
        return self.own_stack(name) + max(
            (self.stack(callee) for callee in self.callees[name]), default=0)


def bad_loop(instructions):
    """The place of a loop that the kernel's check_cfg() refuses, or None."""
    unseen, open_, done = range(3)
    state = [unseen] * len(instructions)
    steps = [(0, iter(ways(instructions, 0)))]
    state[0] = open_
    while steps:
        at, rest = steps[-1]
        way = next(rest, None)
        if way is None:
            state[at] = done
            steps.pop()
            continue
        to, by_jump = way
        if state[to] == open_ and not by_jump:
            return at
        if state[to] == unseen:
            state[to] = open_
            steps.append((to, iter(ways(instructions, to))))
    return None


def ways(instructions, at):
    one = instructions[at]
    if one.code == EXIT:
        return []
    if one.code == JUMP:
        return [(at + 1 + one.offset, True)]
    if one.code & 7 in (5, 6) and one.code != CALL:
        return [(at + 1, True), (at + 1 + one.offset, True)]
    return [(at + (2 if one.code == LOAD_64 else 1), False)]


class Limits(unittest.TestCase):
    objects = []

    def test_stack_of_all_functions_that_call_each_other(self):
        for of in self.objects:
            self.assertTrue(of.functions)
            for name in of.functions:
                with self.subTest(name):
                    self.assertLessEqual(of.stack(name), STACK_BYTES)

    def test_only_jumps_close_loops(self):
        for of in self.objects:
            for name, instructions in of.functions.items():
                with self.subTest(name):
                    self.assertIsNone(bad_loop(instructions))

    def test_a_loop_that_a_call_closes_is_found(self):
        jump = Instruction(JUMP, 0, 0, 1, 0)
        helper = Instruction(CALL, 0, 0, 0, 1)
        branch = Instruction(0x15, 0, 0, -2, 0)
        leave = Instruction(EXIT, 0, 0, 0, 0)
        self.assertEqual(bad_loop([jump, helper, branch, leave]), 1)
        self.assertIsNone(bad_loop([helper, branch._replace(offset=-2), leave]))


if __name__ == "__main__":
    Limits.objects = [Object(path) for path in sys.argv[1:]]
    suite = unittest.TestLoader().loadTestsFromTestCase(Limits)
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    sys.exit(0 if result.wasSuccessful() else 1)
