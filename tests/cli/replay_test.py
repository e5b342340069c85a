#!/usr/bin/env python3
"""countrace replay: in a terminal with its keys, and as a film; every frame is
what `countrace state --at` prints of its instant.

Usage: replay_test.py COUNTRACE SERVER_TRACES [unittest options].
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import pseudo_terminal

COUNTRACE = SERVER_TRACES = ''


class ReplayScreen(pseudo_terminal.Screen):
    def time_ns(self):
        whole, ns = re.search(r' \+(\d+)\.(\d{9}) s of ',
                              self.lines[0]).groups()
        return int(whole) * 10**9 + int(ns)


class Terminal(pseudo_terminal.Terminal):
    """countrace replay in a pseudo terminal."""

    screen_type = ReplayScreen

    def __init__(self, *arguments, **options):
        super().__init__(COUNTRACE, 'replay', *arguments, **options)

    def plays(self, way):
        return lambda: f' {way} ' in self.screen.lines[0][30:]

    def moved_from(self, time_ns, by=0):
        """By more than `by`, backwards if that is negative; 0: at all."""
        def moved():
            way = self.screen.time_ns() - time_ns
            return way != 0 if by == 0 else way > by if by > 0 else way < by
        return moved


class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix='countrace-replay-')
        subprocess.run([SERVER_TRACES, '2'], cwd=cls.folder, check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def run_replay(self, *arguments):
        return subprocess.run([COUNTRACE, 'replay', *arguments],
                              cwd=self.folder, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=120)

    def state(self, time_ns):
        run = subprocess.run(
            [COUNTRACE, 'state', '--all', '--format', 'jsonl', '--at',
             f'{time_ns // 10**9}.{time_ns % 10**9:09}s', 'old1.ctf'],
            cwd=self.folder, text=True, capture_output=True, check=True)
        state = json.loads(run.stdout)
        self.assertEqual(state['offset_ns'], time_ns)
        return state

    def check_screen(self, screen):
        """The CPUs, threads and counters of a screen are those of `state`."""
        state = self.state(screen.time_ns())
        lines = screen.lines
        self.assertTrue(lines[2].startswith(' CPU'), lines)
        for cpu, line in zip(state['cpus'], lines[3:]):
            self.assertEqual(int(line[:4]), cpu['cpu'])
            who = cpu.get('comm') or ('idle' if cpu['account'] == 'idle'
                                      else '(not known)')
            self.assertEqual(line[6:22].strip(), who)
            self.assertEqual(line[22:30].strip(), str(cpu.get('tid', '')))
        by_tid = {thread['tid']: thread for thread in state['threads']}
        at = next(i for i, line in enumerate(lines)
                  if line.startswith(' THREADS'))
        checked = 0
        for line in lines[at + 1:]:
            if line.startswith(' PROCESSES'):
                break
            if not line.strip() or line[24:33].strip() == 'ended':
                continue
            thread = by_tid[int(line[16:22])]
            self.assertEqual(line[1:16].strip(), thread['comm'])
            shown = line[24:33].strip()
            self.assertEqual(shown, f'CPU {thread["cpu"]}'
                             if thread['state'] == 'running'
                             else thread['state'], line)
            self.assertEqual(line[44:].strip(), ' > '.join(
                call['segment'] for call in thread['segments']))
            checked += 1
        for name, event in state['events'].items():
            line = next(line for line in lines if f' {name} ' in line)
            total = re.search(name + r' +(?:\S+|\S+ \S) +[~>=]*([\d.,]+( \w)?) ',
                              line + ' ')[1]
            scale = {'': 1, ' k': 1e3, ' M': 1e6}[total.lstrip('0123456789.,')]
            self.assertAlmostEqual(
                float(total.rstrip(' kM').replace(',', '')) * scale,
                event['count'], delta=max(1, event['count'] / 100), msg=line)
        return checked

    def frames_of(self, cast, lines):
        with open(f'{self.folder}/{cast}', encoding='utf-8') as file:
            head, *rest = map(json.loads, file)
        self.assertEqual(head['version'], 2)
        self.assertEqual(head['height'], lines)
        screen, last = ReplayScreen(), -1
        for shown, kind, output in rest:
            self.assertEqual(kind, 'o')
            self.assertGreaterEqual(shown, last)
            last = shown
            screen.feed(output)
            frame = ReplayScreen()
            frame.lines = list(screen.lines)
            yield frame

    def test_every_frame_of_a_film_is_the_state(self):
        run = self.run_replay('--record-cast', 'a.cast', '--size', '100x30',
                              '--speed', '1ms', 'old1.ctf')
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, '', ''))
        frames = list(self.frames_of('a.cast', 30))
        self.assertGreater(len(frames), 170)  # 5.9 s, 30 a second
        times = [frame.time_ns() for frame in frames]
        self.assertEqual(times, sorted(times))
        self.assertEqual(times[0], 0)
        self.assertEqual(self.state(times[-1])['t_ns'], 1006946329)  # the end
        choose = random.Random(1)
        self.assertGreater(sum(self.check_screen(frame) for frame
                               in choose.sample(frames, 25)), 25)

    def test_a_range(self):
        run = self.run_replay('--from', '2ms', '--to', '3ms', '--speed', '1ms',
                              '--record-cast', 'b.cast', 'old1.ctf')
        self.assertEqual(run.returncode, 0, run.stderr)
        times = [frame.time_ns() for frame in self.frames_of('b.cast', 24)]
        self.assertEqual((times[0], times[-1]), (2_000_000, 3_000_000))

    def test_keys(self):
        replay = Terminal('--at', '2.083898ms', 'old1.ctf', cwd=self.folder)
        replay.wait_until(replay.shows('+0.002083898 s of'), 'first frame')
        self.assertEqual(self.check_screen(replay.screen), 1)
        seen = []
        for key in '..>>,<':
            before = replay.screen.time_ns()
            replay.keys(key)
            replay.wait_until(replay.moved_from(before), key)
            after = replay.screen.time_ns()
            self.assertEqual(after > before, key in '.>')
            seen.append(after)
            self.check_screen(replay.screen)
        near = self.state(2_083_898)['near']
        self.assertEqual(seen[0] + 10**9, min(
            near[kind]['next_ns'] for kind in ('dispatch', 'segment')))
        # One hook back from two forth.
        self.assertEqual(seen[3] > seen[2], True)
        replay.keys('\x1b[F')
        replay.wait_until(lambda: replay.screen.time_ns() > 5_900_000, 'end')
        replay.keys('.')
        replay.wait_until(replay.shows('no boundary after here'), 'note')
        replay.keys('\x1b[H')
        replay.wait_until(lambda: replay.screen.time_ns() == 0, 'begin')
        replay.keys('o')
        replay.wait_until(replay.shows('plays in a loop'), 'loop')
        replay.keys('q')
        self.assertEqual(replay.end(), 0)
        # The terminal is as it was.
        self.assertTrue(replay.output.endswith(
            b'\x1b[0m\x1b[?25h\x1b[?1049l'), replay.output[-60:])

    def test_plays_forwards_and_backwards(self):
        # In the middle: at the begin, it could be back before it is looked at.
        replay = Terminal('--record-cast', 'c.cast', '--speed', '100us',
                          '--at', '50%', 'old1.ctf', cwd=self.folder)
        for key, way in ((' ', '>'), ('j', '<'), ('l', '>'), ('L', '>')):
            replay.keys(key)
            replay.wait_for(replay.plays(way), 'way')
            replay.wait_for(replay.moved_from(
                replay.screen.time_ns(), 20_000 if way == '>' else -20_000),
                f'motion after {key!r}')
        replay.wait_for(lambda: '1 s shown = 200 us' in replay.screen.lines[0], 'L twice')
        replay.keys('k')
        replay.wait_until(lambda: ' || ' in replay.screen.lines[0], 'pause')
        self.check_screen(replay.screen)
        # Ctrl-C
        replay.keys('\x03')
        self.assertEqual(replay.end(), 0)
        frames = list(self.frames_of('c.cast', 30))
        choose = random.Random(2)
        for frame in choose.sample(frames, min(20, len(frames))):
            if frame.lines[0]:
                self.check_screen(frame)

    def test_signals_restore_the_terminal(self):
        replay = Terminal('--paused', 'old1.ctf', cwd=self.folder)
        replay.wait_for(replay.shows('+0.000000000 s of'), 'first frame')
        os.kill(replay.pid, signal.SIGTERM)
        self.assertEqual(replay.end(), 0)
        self.assertTrue(replay.output.endswith(b'\x1b[?25h\x1b[?1049l'))

    def test_a_small_terminal(self):
        replay = Terminal('--paused', 'old1.ctf', columns=60, lines=20,
                          cwd=self.folder)
        replay.wait_for(lambda: b'a replay needs 80 x 24' in replay.output,
                        'message')
        replay.resize(80, 24)
        replay.wait_for(lambda: replay.screen.lines[2].startswith(' CPU'),
                        'screen')
        self.assertEqual(len(replay.screen.lines[2]), 80)
        replay.keys('q')
        self.assertEqual(replay.end(), 0)

    def test_wrong_usage(self):
        for arguments, message in (
                ((), 'a replay needs a terminal: use --record-cast FILE'),
                (('--record-cast', 'd.cast', '--size', '10x10'),
                 '--size 10x10: write COLUMNSxLINES, from 80x24 to 1000x1000'),
                (('--record-cast', 'd.cast', '--size', '90'), '--size 90: '),
                (('--record-cast', 'd.cast', '--speed', '0'), '--speed'),
                (('--record-cast', 'd.cast', '--at', '9s'), '9s'),
                (('--record-cast', 'd.cast', '--at', '1ms', '--from', '2ms'),
                 '--at 1ms is outside --from and --to'),
                (('--record-cast', 'd.cast', '--from', '3ms', '--to', '2ms'),
                 'the range is empty')):
            run = self.run_replay(*arguments, 'old1.ctf')
            self.assertEqual((run.returncode, run.stdout), (2, ''), arguments)
            self.assertIn(message, run.stderr)
            self.assertFalse(os.path.exists(f'{self.folder}/d.cast'))
        run = self.run_replay('--record-cast', 'no/such/a.cast', 'old1.ctf')
        self.assertEqual(run.returncode, 1)
        self.assertIn('no/such/a.cast', run.stderr)
        run = self.run_replay('--record-cast', 'd.cast', 'none.ctf')
        self.assertEqual(run.returncode, 1)
        self.assertIn('none.ctf', run.stderr)
        self.assertFalse(os.path.exists(f'{self.folder}/d.cast'))


if __name__ == '__main__':
    COUNTRACE, SERVER_TRACES = (os.path.abspath(path) for path in sys.argv[1:3])
    del sys.argv[1:3]
    unittest.main(verbosity=2)
