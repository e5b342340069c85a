#!/usr/bin/env python3
"""`record --args` against strace: deterministic programs are recorded without
it, which would make texts resident, and run again below it. Every file name,
descriptor, its file, and returned value must be the same, in order.

usage: call_arguments_test.py COUNTRACE
"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest

from trace_checks import Recording, run

COUNTRACE = ''
START = 'read _; exec "$@" </dev/null >/dev/null 2>&1'
# Calls that return something else in each run, or after a signal.
NOT_COMPARED = {'exit_group', 'exit', 'rt_sigreturn', 'restart_syscall', 'select', 'poll', 'futex',
                'epoll_wait', 'epoll_pwait', 'ppoll', 'pselect6', 'wait4', 'waitid', 'vfork',
                'clone', 'clone3', 'fork', 'brk', 'getrandom', 'sched_getaffinity', 'prctl',
                'rt_sigaction', 'rt_sigprocmask', 'arch_prctl', 'set_tid_address', 'sysinfo',
                'set_robust_list', 'rseq', 'getpid', 'getppid', 'gettid', 'prlimit64', 'munmap',
                'mprotect', 'madvise', 'mremap', 'shmat', 'uname', 'clock_nanosleep', 'tgkill',
                'sched_setaffinity', 'kill', 'setitimer', 'getpgrp', 'setpgid', 'getsid'}

PROGRAMS = {
    'ls': ['ls', '-l', 'files'],
    'cat': ['cat', 'files/a', 'files/b', 'missing'],
    'git_status': ['git', '-C', 'repository', 'status'],
    'git_log': ['git', '-C', 'repository', 'log', '--oneline'],
    'python': ['python3', '-I', '-c', 'import json, os; print(os.stat("files/a").st_size)'],
    'sh': ['sh', '-c', 'for f in files/*; do test -r "$f" && read line < "$f"; done; echo x > out'],
    'find': ['find', 'files', '-name', '*.txt'],
    'tar': ['tar', '-cf', 'all.tar', 'files'],
    'untar': ['tar', '-xf', 'given.tar', '-C', 'empty'],
    'sqlite3': ['sqlite3', 'data.db', 'select count(*) from t'],
    'sort': ['sort', '-o', 'sorted', 'files/a'],
    'cp': ['cp', '-r', 'files', 'copy'],
    'mv': ['mv', 'files', 'moved'],
    'ln': ['ln', '-s', 'files/a', 'link'],
    'hard_link': ['ln', 'files/a', 'hard'],
    'grep': ['grep', '-r', 'line', 'files'],
    'rm': ['rm', '-rf', 'files'],
    'mkdir': ['mkdir', '-p', 'x/y/z'],
    'rmdir': ['rmdir', 'empty'],
    'touch': ['touch', 'new', 'files/a'],
    'chmod': ['chmod', '-R', 'u+x', 'files'],
    'wc': ['wc', 'files/a', 'files/b'],
    'head': ['head', '-c', '5', 'files/a', 'files/b'],
    'tail': ['tail', '-n', '1', 'files/a'],
    'sed': ['sed', '-n', '1p', 'files/a'],
    'awk': ['awk', '{ print $1 }', 'files/a'],
    'diff': ['diff', 'files/a', 'files/b'],
    'du': ['du', '-a', 'files'],
    'readlink': ['readlink', '-f', 'files/../files/a'],
    'realpath': ['realpath', 'files/a'],
    'stat': ['stat', 'files/a', 'missing'],
    'dd': ['dd', 'if=files/a', 'of=copied', 'bs=4', 'status=none'],
    'gzip': ['gzip', '-nk', 'files/a'],
    'xargs': ['sh', '-c', 'echo files/a files/b | xargs cat'],
    'pipes': ['sh', '-c', 'cat files/a | grep line | wc -l'],
    'long_name': ['cat', 'd' * 100 + '/' + 'e' * 100],
    'deleted': ['sh', '-c', 'exec 3< files/a; rm files/a; cat <&3'],
    'env': ['env', 'A=1', 'true'],
    'cmp': ['cmp', 'files/a', 'files/b'],
    'install': ['install', '-m', '600', 'files/a', 'installed'],
}


# Opens files of all kinds, calls lseek on each (with a number that no other call has), and writes
# what /proc shows of them.
DESCRIPTORS = """
import json, os, select, socket
open_file = lambda name: os.open(name, os.O_CREAT | os.O_RDWR)
deep = '/'.join(f'dir{i:02}' for i in range(30))
os.makedirs(deep)
os.mkfifo('fifo')
held = [select.epoll(), socket.socket(socket.AF_UNIX)]
files = [open_file(deep + '/f'), os.memfd_create('memory'), held[0].fileno(), held[1].fileno(),
         os.open('fifo', os.O_RDWR), os.pipe()[0], os.open('.', 0), os.open('/', 0),
         os.open('/dev', 0), os.open('/dev/null', 0), os.open('/proc/self/status', 0)]
files += [open_file('gone')]
os.unlink('gone')
os.mkdir('a')
for old, new in (('old', 'new'), ('a/x', 'a/x')):
    files += [open_file(old)]
    os.lseek(files[-1], 0, 0)
    os.rename(old, new)
os.rename('a', 'b')
shown = {}
for file in files:
    try:
        os.lseek(file, 0, 77)
    except OSError:
        pass
    shown[file] = os.readlink(f'/proc/self/fd/{file}')
json.dump(shown, open('shown', 'w'))
"""


# Talks to itself, and writes which addresses it used.
SOCKETS = """
import json, os, socket
used = {}
for family, address in ((socket.AF_INET, ('127.0.0.1', 0)), (socket.AF_INET6, ('::1', 0)),
                        (socket.AF_UNIX, os.path.abspath('socket')), (socket.AF_UNIX, '\\0name')):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        if isinstance(address, str) and os.path.exists(address):
            os.unlink(address)
        server = socket.socket(family, kind)
        try:
            server.bind(address)
        except OSError:
            continue  # without IPv6
        name = server.getsockname()
        peer = socket.socket(family, kind)
        if kind == socket.SOCK_DGRAM:
            peer.sendto(b'x', name)
            server.recvfrom(9)
        else:
            server.listen()
            peer.connect(name)
            accepted, who = server.accept()
            accepted.getpeername()
            held = peer.getsockname()
        used[f'{len(used)} {int(kind)}'] = name if isinstance(name, (list, tuple)) else str(
            name if isinstance(name, str) else name.decode())
json.dump(used, open('used', 'w'))
"""
# Names that it gave a folder above an open file, and those that another process gave it.
RENAMED = """
import os, subprocess
os.makedirs('above/inner')
file = os.open('above/inner/file', os.O_CREAT | os.O_RDWR)
os.lseek(file, 0, 0)
os.mkfifo('asked')
asked = os.open('asked', os.O_RDONLY)
os.read(asked, 1)
os.lseek(file, 1, 0)
"""
MANY_FILES = """
import os
files = [os.open(f'f{i}', os.O_CREAT | os.O_RDWR) for i in range(500)]
for i in range(200000):
    os.lseek(files[i % 500], 10**9 + i, 0)
"""


def prepare(folder):
    """The same files at the same place, before each run."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / 'files').mkdir(parents=True)
    for name, text in (('a', 'line one\nline two\n'), ('b', 'other\n'), ('c.txt', 'third\n')):
        (folder / 'files' / name).write_text(text)
        # Else git reads those again that are of the second of its index.
        os.utime(folder / 'files' / name, (1767225600, 1767225600))
    (folder / 'empty').mkdir()
    run('tar', '-cf', folder / 'given.tar', '-C', folder / 'files', 'a', 'b')
    if shutil.which('git'):
        date = '2026-01-01T00:00:00Z'
        env = {**os.environ, 'GIT_CONFIG_GLOBAL': '/dev/null', 'GIT_AUTHOR_DATE': date,
               'GIT_COMMITTER_DATE': date}
        for arguments in (['init', '-q'], ['add', '.'],
                          ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'x']):
            shutil.copytree(folder / 'files', folder / 'repository', dirs_exist_ok=True)
            run('git', '-C', folder / 'repository', *arguments, env=env)
    if shutil.which('sqlite3'):
        run('sqlite3', folder / 'data.db', 'create table t(a); insert into t values (1);')


def split_arguments(text):
    """The arguments of a line of strace."""
    arguments, depth, quoted, at = [''], 0, False, 0
    while at < len(text):
        char = text[at]
        if quoted:
            if char == '\\':
                arguments[-1] += text[at:at + 2]
                at += 2
                continue
            quoted = char != '"'
        elif char == '"':
            quoted = True
        elif char in '([{':
            depth += 1
        elif char in ')]}':
            depth -= 1
        elif char == '<' and re.match(r'<[^>]*>', text[at:]):
            name = re.match(r'<((?:->|[^>])*)>', text[at:]).group(0)
            arguments[-1] += name
            at += len(name)
            continue
        elif char == ',' and depth == 0:
            arguments.append('')
            at += 1
            continue
        arguments[-1] += char
        at += 1
    return [argument.strip() for argument in arguments]


def plain(text):
    """A file's name without what differs between two runs."""
    text = re.sub(r'(pipe|socket):\[\d+\]', r'\1:[N]', text)
    text = re.sub(r'/proc/\d+', '/proc/N', text)
    return re.sub(r'(tmp_obj_|sort|tmp|sh-thd\.|incoming-)\w{6,}', r'\1X', text)


def cut(text):
    data = text.encode('latin-1', 'replace')
    return text if len(data) <= 128 else data[:127].decode('latin-1') + '...'


def unquoted(argument):
    body = re.match(r'"((?:[^"\\]|\\.)*)"', argument)
    if not body:
        return None
    return body.group(1).encode().decode('unicode_escape')


def strace_calls(prefix):
    """For each process, by pid: (call, arguments, returned, file of the returned)."""
    processes = []
    for path in sorted(prefix.parent.glob(prefix.name + '.*'),
                       key=lambda path: int(path.suffix[1:])):
        calls = []
        for line in path.read_text(errors='replace').splitlines():
            found = re.match(r'(\w+)\((.*)\)\s+= (-?\d+|\?|0x[0-9a-f]+)(?:<(.*?)>(\(deleted\))?)?'
                             r'(?: E\w+ .*| \(.*)?$', line)
            if found:
                name, text, returned, file, deleted = found.groups()
                calls.append((name, text, returned, file and file + (' ' + deleted if deleted
                                                                     else '')))
        processes.append(calls)
    return processes


def recorded_calls(trace):
    """For each process, by pid: (call, enter's values, exit's values, returned)."""
    done = run(COUNTRACE, 'script', '--format', 'jsonl', trace)
    if done.returncode != 0:
        raise AssertionError(done)
    processes, open_calls = {}, {}
    for line in done.stdout.splitlines():
        record = json.loads(line)
        event = record.get('event', '')
        if not event.startswith('syscall:'):
            continue
        fields = record['fields']
        tid, pid = fields.pop('tid'), fields.pop('pid')
        number = fields.pop('number')
        name, kind = event[len('syscall:'):].rsplit('__', 1)
        if kind == 'enter':
            open_calls[tid] = (name, fields, number)
        elif tid in open_calls and open_calls[tid][2] == number:
            name, values, _ = open_calls.pop(tid)
            ret = fields.pop('ret')
            processes.setdefault(pid, []).append((name, values, fields, ret))
    return [processes[pid] for pid in sorted(processes)]


def from_exec(calls, program):
    """What comes behind the shell's execve of the program."""
    for at, call in enumerate(calls):
        if call[0] != 'execve' or at == 0:  # the first one is the shell itself
            continue
        traced = isinstance(call[1], str)
        name = unquoted(call[1]) if traced else call[1]['filename']
        if name == '(unreadable)':
            name = call[2]['filename']
        if name.endswith('/' + program) and (call[2] == '0' if traced else call[3] == 0):
            return calls[at:]
    return []


class CallArguments(Recording):
    unreadable = texts = 0

    def setUp(self):
        super().setUp()
        self.needs_strace()
        self.folder = self.work / 'run'

    def record(self, program, *options):
        """Records `program` as it runs by itself: nothing is preloaded."""
        prepare(self.folder)
        shutil.rmtree(self.trace, ignore_errors=True)
        starter = subprocess.Popen(
            ['sh', '-c', START, 'sh', *program], cwd=self.folder,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        recorder = subprocess.Popen(
            [COUNTRACE, 'record', '--force', '-q', '--args', '-e', 'task-clock', '-o', self.trace,
             *options, '-p', str(starter.pid)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        end = time.monotonic() + 60
        while not (self.trace / '.session').exists():
            if recorder.poll() is not None or time.monotonic() > end:
                starter.kill()
                starter.communicate()
                output = recorder.communicate()[0]
                if 'Cannot load BPF' in output or 'privilege' in output:
                    self.skipTest('SKIPPED: arguments need BPF: ' + output.strip())
                self.fail(output)
            time.sleep(0.01)
        starter.communicate(b'\n')
        output = recorder.communicate(timeout=120)[0]
        self.assertEqual(0, recorder.returncode, output)
        return output

    def strace(self, program):
        prepare(self.folder)
        prefix = self.work / 'strace'
        for path in self.work.glob('strace.*'):
            path.unlink()
        done = run('strace', '-ff', '-y', '-s', '4096', '-o', prefix, 'sh', '-c',
                   START, 'sh', *program, cwd=self.folder, input='\n')
        del done
        return strace_calls(prefix)

    def compare_value(self, where, name, values, exit_values, argument, following):
        """Compares one argument; `following`: the file behind a descriptor."""
        value = values[name]
        if isinstance(value, str) and not value.startswith('0x'):
            expected = unquoted(argument)
            if expected is None:
                return
            if value == '(unreadable)' and name in exit_values:
                value = exit_values[name]
            CallArguments.texts += 1
            if value == '(unreadable)':
                CallArguments.unreadable += 1
                print('unreadable:', where)
                return
            self.assertEqual(cut(plain(expected)), plain(value), where)
        elif following is not None:
            number = re.match(r'(AT_FDCWD|-?\d+)(?:<(.*)>(\(deleted\))?)?$', argument)
            if not number:
                return
            fd = -100 if number.group(1) == 'AT_FDCWD' else int(number.group(1))
            self.assertEqual(fd, value, where)
            if number.group(2) is not None:
                expected = number.group(2) + (' (deleted)' if number.group(3) else '')
                self.assertEqual(cut(plain(expected)), plain(values[following]), where)

    def compare(self, ours, theirs):
        # When memory is allocated differs from run to run.
        ours = [call for call in ours if call[0] not in NOT_COMPARED and
                not (call[0] == 'mmap' and call[1]['fd'] in (-1, 2**32 - 1, 2**64 - 1))]
        theirs = [call for call in theirs if call[0] not in NOT_COMPARED and
                  not (call[0] == 'mmap' and 'MAP_ANONYMOUS' in call[1])]
        self.assertEqual([call[0] for call in theirs], [call[0] for call in ours])
        for (name, values, exit_values, ret), (_, text, returned, file) in zip(ours, theirs):
            where = f'{name}({text}) = {returned}: {values} {exit_values} {ret}'
            if not returned.startswith('0x') and returned != '?' and name != 'mmap':
                expected = int(returned, 8 if name == 'umask' else 10)
                self.assertEqual(expected, -1 if ret < 0 else ret, where)
            arguments = split_arguments(text)
            names = list(values)
            position = 0
            for at, field in enumerate(names):
                if re.fullmatch(r'(file|dir)(_\d)?', field):
                    continue
                following = names[at + 1] if at + 1 < len(names) and re.fullmatch(
                    r'(file|dir)(_\d)?', names[at + 1]) else None
                if position < len(arguments):
                    self.compare_value(where, field, values, exit_values, arguments[position],
                                       following)
                position += 1
            for returned_file in ('file', 'new_file'):
                if file is not None and returned_file in exit_values:
                    self.assertEqual(cut(plain(file)), plain(exit_values[returned_file]), where)

    def test_they_are_those_of_strace(self):
        for name, program in PROGRAMS.items():
            if not shutil.which(program[0]):
                continue
            with self.subTest(name):
                self.record(program)
                ours = recorded_calls(self.trace)
                theirs = self.strace(program)
                path = shutil.which(program[0])
                self.assertEqual(len(theirs), len(ours))
                first = True
                for recorded, traced in zip(ours, theirs):
                    if first:
                        recorded = from_exec(recorded, program[0])
                        traced = from_exec(traced, program[0])
                        self.assertTrue(recorded and traced, path)
                    first = False
                    self.compare(recorded, traced)
        print(f'texts: {self.texts}, unreadable: {self.unreadable}')
        self.assertGreater(self.texts, 100)
        self.assertLessEqual(self.unreadable * 1000, self.texts)

    def test_files_are_those_of_proc(self):
        self.record(['python3', '-I', '-c', DESCRIPTORS])
        shown = json.loads((self.folder / 'shown').read_text())
        process = recorded_calls(self.trace)[0]
        seen = {str(values['fd']): values['file'] for name, values, _, _ in process
                if name == 'lseek' and values['whence'] == 77}
        self.assertEqual({file: cut(name) for file, name in shown.items()}, seen)

    def test_addresses_are_those_of_the_program(self):
        self.record(['python3', '-I', '-c', SOCKETS])
        used = json.loads((self.folder / 'used').read_text())
        self.assertGreaterEqual(len(used), 6)
        seen = {}
        for name, values, exit_values, ret in recorded_calls(self.trace)[0]:
            for fields in (values, exit_values):
                for field in ('uservaddr', 'umyaddr', 'addr', 'upeer_sockaddr', 'usockaddr'):
                    if ret >= 0 and fields.get(field):
                        seen.setdefault(name, set()).add(fields[field])
        names = set()
        for key, name in used.items():
            if isinstance(name, str):
                names.add((key, 'unix:' + name.replace('\0', '@')))
            else:
                host = name[0] if len(name) == 2 else f'[{name[0]}]'
                names.add((key, f'{host}:{name[1]}'))
        streams = {text for key, text in names if key.endswith(f' {int(socket.SOCK_STREAM)}')}
        packets = {text for key, text in names if key.endswith(f' {int(socket.SOCK_DGRAM)}')}
        self.assertEqual(streams, seen['connect'])
        self.assertEqual(packets, seen['sendto'])
        self.assertLessEqual(streams | packets, seen['getsockname'])
        inet = {text for text in streams if not text.startswith('unix:')}
        accepted = seen.get('accept4', set()) | seen.get('accept', set())
        self.assertLessEqual(accepted, seen['getpeername'])
        self.assertEqual(len(inet), len([text for text in accepted if text != 'unix:']))
        self.assertLessEqual(accepted, seen['getsockname'])

    def test_an_exec_has_its_words(self):
        self.record(['sh', '-c', 'env one "two three" 2>/dev/null; env ' + 'x' * 200 + '; true'])
        words = [exit_values['argv'] for process in recorded_calls(self.trace)
                 for name, _, exit_values, ret in process if name == 'execve' and ret == 0]
        self.assertIn('env one two three', words)
        self.assertIn('env ' + 'x' * 123 + '...', words)

    def test_files_have_the_names_that_others_gave_their_folders(self):
        def rename():
            while not (self.folder / 'asked').exists():
                time.sleep(0.01)
            with open(self.folder / 'asked', 'wb'):  # its end is the answer
                (self.folder / 'above').rename(self.folder / 'other')
        other = threading.Thread(target=rename, daemon=True)
        other.start()
        self.record(['python3', '-I', '-c', RENAMED])
        other.join()
        files = [values['file'] for name, values, _, _ in recorded_calls(self.trace)[0]
                 if name == 'lseek' and values['file'].endswith('/inner/file')]
        self.assertEqual([f'{self.folder}/above/inner/file', f'{self.folder}/other/inner/file'],
                         files)

    def test_losses_do_not_close_files(self):
        """Each record is there or lost, once; a file without room for its name says so."""
        self.record(['python3', '-I', '-c', MANY_FILES], '--kernel-ring', '16K')
        data = self.report()
        self.assertGreater(data['loss']['discarded_events'], 0)
        calls = 0
        for line in run(COUNTRACE, 'script', '--format', 'jsonl', self.trace).stdout.splitlines():
            record = json.loads(line)
            if record.get('event', '').startswith('syscall:'):
                calls += 1
            if record.get('event') == 'syscall:lseek__enter':
                at, file = record['fields']['offset'], record['fields']['file']
                if at >= 10**9 and file != '(unreadable)':
                    self.assertTrue(file.endswith(f'/f{at % 500}'), record)
        lost = data['loss']['by_cause']['kernel_ring_full']
        # Its other calls: of the interpreter's start and end. What is lost is of
        # all kinds: on a busy machine there are as many switches.
        self.assertGreaterEqual(calls + lost, 400_000 + 1000)
        self.assertLess(calls, 400_000 + 8000)

    def test_flags_have_names(self):
        self.record(['cat', 'files/a', 'missing'])
        text = run(COUNTRACE, 'script', self.trace).stdout
        self.assertRegex(text, r'syscall:openat__enter: .*dfd = AT_FDCWD, dir = "\S+run", '
                               r'filename = "files/a", flags = O_RDONLY')
        self.assertRegex(text, r'flags = O_RDONLY\|O_CLOEXEC')
        self.assertRegex(text, r'syscall:openat__exit: .*ret = -2 ENOENT')
        self.assertRegex(text, r'prot = PROT_READ\|PROT_WRITE, flags = MAP_PRIVATE\|MAP_ANONYMOUS')

    def test_traces_are_sound(self):
        self.record(['sh', '-c', 'cat files/a | wc'])
        self.check_readable()

    def test_without_the_option_nothing_is_stored(self):
        done = run(COUNTRACE, 'record', '--force', '-q', '--kernel', 'syscalls', '-o', self.trace,
                   '--', 'cat', '/dev/null')
        self.assertEqual(0, done.returncode, done)
        self.assertNotIn('filename', run(COUNTRACE, 'script', self.trace).stdout)


if __name__ == '__main__':
    COUNTRACE = Recording.countrace_program = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
