"""A pseudo terminal for tests of what countrace draws: its keys, its size, and
the lines it shows."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time


class Screen:
    """What a terminal shows that was sent our sequences: lines at places."""

    def __init__(self):
        self.lines = [''] * 100

    def feed(self, output):
        for line, text in re.findall(r'\x1b\[(\d+);1H(.*?)\x1b\[K', output,
                                     re.DOTALL):
            self.lines[int(line) - 1] = re.sub(r'\x1b\[[0-9;]*m', '', text)


class Terminal:
    """A program in a pseudo terminal; `screen`: what it shows."""

    screen_type = Screen

    def __init__(self, *command, columns=100, lines=30, cwd=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd or '.')
            fcntl.ioctl(0, termios.TIOCSWINSZ,
                        struct.pack('HHHH', lines, columns, 0, 0))
            os.environ['TERM'] = 'xterm'
            os.execv(command[0], list(command))
        self.output = b''
        self.screen = self.screen_type()

    def resize(self, columns, lines):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ,
                    struct.pack('HHHH', lines, columns, 0, 0))
        os.kill(self.pid, signal.SIGWINCH)

    def read(self, seconds):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return False
        try:
            new = os.read(self.fd, 65536)
        except OSError:  # the program has ended
            return False
        self.output += new
        self.screen = self.screen_type()
        self.screen.feed(self.output.decode(errors='replace'))
        return bool(new)

    def wait_for(self, condition, what):
        """While it changes, the screen may be between two frames."""
        end = time.monotonic() + 60
        while not condition():
            self.read(0.1)
            if time.monotonic() > end:
                raise AssertionError(f'no {what}: {self.screen.lines}, {self.output[-500:]}')

    def wait_until(self, condition, what):
        """A whole frame of a program that has stopped drawing."""
        self.wait_for(condition, what)
        while self.read(0.3):
            pass

    def shows(self, text):
        return lambda: any(text in line for line in self.screen.lines)

    def keys(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        """The exit status."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self.read(0):
                    pass
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
        raise AssertionError('it does not end')
