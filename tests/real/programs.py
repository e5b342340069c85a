"""The table of programs: what each runs, what it counts itself, and what must
be equal to that. `PROGRAMS` at the end.

Work is the same in each run. Its own count is in its output.
"""
import pathlib
import re
import shutil
import socket
import subprocess

SOURCES = pathlib.Path(__file__).resolve().parent / 'sources'


def library_of(program, name):
    """The file of a library that the loader gives a program."""
    listed = subprocess.run(['ldd', program], text=True, capture_output=True,
                            check=True).stdout
    return re.search(rf'{re.escape(name)}\S* => (\S+)', listed).group(1)


class Program:
    """One row of the table; what a program has otherwise, its class says."""
    name = None
    needs = ()  # programs in the search path
    status = 0
    in_ci = False
    # System calls by name are the same in each run: compared with strace.
    repeats_calls = False
    # Refuses to be root.
    drops_root = False
    # Processes of this command do its work.
    comm = None

    def missing(self):
        lacking = [each for each in self.needs if not shutil.which(each)]
        return f'needs {", ".join(lacking)}' if lacking else None

    def build(self, folder):
        """Once: makes what all runs use."""

    def command(self, build, folder, in_user_namespace):
        """The command of one run, whose files are in `folder`."""
        raise NotImplementedError

    def output(self, text):
        """The part of the output that is the same in each run."""
        return text

    def work(self, text):
        """The program's own count: the last number of its output."""
        return int(re.findall(r'\d+', text)[-1])

    def expected_work(self):
        raise NotImplementedError

    def probe(self, build):
        """FILE:FUNCTION"""
        raise NotImplementedError

    def hits(self, work):
        """Of the probe: (least, most)."""
        return work, work

    def calls(self, work):
        """{(command, system call): (least, most) that succeed}"""
        return {}

    def processes(self, work):
        """How many processes its work takes, if that is fixed."""
        return None


class Nginx(Program):
    name = comm = 'nginx'
    needs = ('nginx', 'ab')
    in_ci = True

    def command(self, build, folder, in_user_namespace):
        # A worker gives up root where there is another user.
        user = 'root' if in_user_namespace else 'daemon daemon'
        (folder / 'page').write_text('page\n' * 200)
        folder.chmod(0o755)
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            port = free.getsockname()[1]
        temporary = '\n'.join(
            f'  {each}_temp_path {folder}/{each};' for each in (
                'client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'))
        (folder / 'nginx.conf').write_text(f'''
user {user};
worker_processes 2;
pid {folder}/nginx.pid;
events {{ worker_connections 64; }}
http {{
  access_log {folder}/access.log;
  sendfile on;
{temporary}
  server {{
    listen 127.0.0.1:{port};
    root {folder};
  }}
}}
''')
        return ['sh', str(SOURCES / 'nginx.sh'), str(folder), str(port)]

    def expected_work(self):
        return 200

    def probe(self, build):
        return f'{shutil.which("nginx")}:ngx_http_process_request'

    def calls(self, work):
        # ab opens up to one connection more for each of its clients.
        return {('nginx', 'accept4'): (work, work + 4),
                ('nginx', 'sendfile'): (work, work)}


class Postgres(Program):
    name = 'postgres'
    comm = 'postgres'
    needs = ('setpriv',)
    in_ci = True
    drops_root = True

    def folder(self):
        found = sorted(pathlib.Path('/usr/lib/postgresql').glob('*/bin/initdb'))
        return found[-1].parent if found else None

    def missing(self):
        return super().missing() or (
            None if self.folder() and (self.folder() / 'pgbench').exists()
            else 'needs postgresql')

    def build(self, folder):
        # As the user who runs it: it looks at the owner of its files.
        script = f'''
set -e
{self.folder()}/initdb -D '{folder}/data' -U real -A trust --no-sync \
  --wal-segsize=1 >/dev/null
{self.folder()}/pg_ctl -s -w -D '{folder}/data' -l '{folder}/log' \
  -o "-k '{folder}' -c listen_addresses=''" start
{self.folder()}/pgbench -i -q -s 1 -h '{folder}' -U real postgres
{self.folder()}/pg_ctl -s -w -D '{folder}/data' stop
'''
        subprocess.run(['sh', '-c', script], check=True, capture_output=True,
                       timeout=120)

    def command(self, build, folder, in_user_namespace):
        shutil.copytree(build / 'data', folder / 'data', symlinks=True)
        return ['sh', str(SOURCES / 'postgres.sh'), str(folder),
                str(self.folder())]

    def output(self, text):
        # Statements of pgbench before the transactions are its own affair.
        return re.sub(r'statements \d+', '', text)

    def expected_work(self):
        return None  # checked by output(): 200 transactions

    def probe(self, build):
        return f'{self.folder()}/postgres:pg_parse_query'

    def calls(self, work):
        # A message of pgbench for each statement, and a few to connect.
        return {('pgbench', 'sendto'): (work, work + 20)}


class Redis(Program):
    name = 'redis'
    comm = 'redis-server'
    needs = ('redis-server', 'redis-benchmark', 'redis-cli')

    def command(self, build, folder, in_user_namespace):
        return ['sh', str(SOURCES / 'redis.sh'), str(folder)]

    def output(self, text):
        return re.sub(r'commands \d+', '', text)

    def expected_work(self):
        return None  # checked by output(): 1000 of each command

    def probe(self, build):
        return f'{shutil.which("redis-server")}:processCommand'

    def hits(self, work):
        # Counted before INFO itself, and SHUTDOWN follows.
        return work + 2, work + 2

    def calls(self, work):
        # Each command is sent by itself, and a request for the configuration.
        return {('redis-benchmark', 'sendto'): (2000, 2010)}


class Sqlite(Program):
    name = comm = 'sqlite3'
    needs = ('sqlite3',)
    status = 4
    repeats_calls = True

    def command(self, build, folder, in_user_namespace):
        return ['sqlite3', str(folder / 'base'),
                f'.read "{SOURCES / "work.sql"}"']

    def work(self, text):
        return int(re.search(r'rows (\d+)', text).group(1))

    def expected_work(self):
        return 1000

    def probe(self, build):
        library = library_of(shutil.which('sqlite3'), 'libsqlite3.so')
        return f'{library}:sqlite3_result_blob'


class Python(Program):
    name = 'python3'
    comm = 'python3'
    needs = ('/usr/bin/python3',)
    status = 7
    in_ci = True
    repeats_calls = True

    def command(self, build, folder, in_user_namespace):
        return ['/usr/bin/python3', '-IB', str(SOURCES / 'work.py')]

    def work(self, text):
        return int(re.search(r'floats (\d+)', text).group(1))

    def expected_work(self):
        return 300

    def probe(self, build):
        return '/usr/bin/python3:PyOS_double_to_string'

    def processes(self, work):
        return 1


class Node(Program):
    name = 'node'
    comm = 'node'
    needs = ('node',)

    def command(self, build, folder, in_user_namespace):
        return ['node', str(SOURCES / 'work.mjs'), str(folder)]

    def expected_work(self):
        return 200

    def probe(self, build):
        node = pathlib.Path(shutil.which('node')).resolve()
        return f'{node}:uv_fs_chmod'

    def calls(self, work):
        return {('node', 'chmod'): (work, work)}

    def processes(self, work):
        return 1


class Java(Program):
    name = 'java'
    comm = 'java'
    needs = ('java', 'javac')

    def build(self, folder):
        subprocess.run(['javac', '-d', str(folder), str(SOURCES / 'Work.java')],
                       check=True, timeout=300)

    def command(self, build, folder, in_user_namespace):
        return ['java', '-Xshare:auto', '-Xmx64m', '-XX:+PerfDisableSharedMem',
                '-cp', str(build), 'Work', str(folder)]

    def expected_work(self):
        return 200

    def probe(self, build):
        java = pathlib.Path(shutil.which('java')).resolve()
        return (f'{java.parent.parent}/lib/libjava.so:'
                'Java_java_io_UnixFileSystem_createDirectory')

    def calls(self, work):
        return {('java', 'mkdir'): (work, work)}

    def processes(self, work):
        return 1


class Go(Program):
    name = 'go'
    comm = 'work-go'
    needs = ('go',)
    status = 3
    in_ci = True

    def build(self, folder):
        subprocess.run(
            ['go', 'build', '-o', str(folder / 'work-go'),
             str(SOURCES / 'work.go')], check=True, timeout=300, cwd=folder,
            env={'PATH': '/usr/local/bin:/usr/bin:/bin', 'GO111MODULE': 'off',
                 'GOCACHE': str(folder / 'cache'), 'HOME': str(folder)})

    def command(self, build, folder, in_user_namespace):
        return [str(build / 'work-go')]

    def expected_work(self):
        return 2000

    def probe(self, build):
        return f'{build / "work-go"}:main.tick'

    def calls(self, work):
        return {('work-go', 'getpgid'): (20, 20)}

    def processes(self, work):
        return 1


class Rust(Program):
    name = 'rust'
    comm = 'work-rs'
    needs = ('rustc',)
    status = 5

    def build(self, folder):
        subprocess.run(['rustc', '-O', '-o', str(folder / 'work-rs'),
                        str(SOURCES / 'work.rs')], check=True, timeout=300,
                       cwd=folder)

    def command(self, build, folder, in_user_namespace):
        return [str(build / 'work-rs')]

    def expected_work(self):
        return 1000

    def probe(self, build):
        return f'{build / "work-rs"}:work_step'

    def calls(self, work):
        return {('work-rs', 'getppid'): (work, work)}

    def processes(self, work):
        return 1


class Git(Program):
    name = comm = 'git'
    needs = ('git',)

    def command(self, build, folder, in_user_namespace):
        return ['sh', str(SOURCES / 'git.sh'), str(folder)]

    def expected_work(self):
        return 52

    def probe(self, build):
        return f'{library_of(shutil.which("git"), "libz.so")}:deflateInit_'

    def calls(self, work):
        return {('git', 'link'): (work, work)}


class Make(Program):
    name = comm = 'make'
    needs = ('make',)
    status = 2

    def command(self, build, folder, in_user_namespace):
        names = ' '.join(f't{i}' for i in range(40))
        (folder / 'Makefile').write_text(
            f'all: {names}\n\t@echo recipes $(words $^); false\n'
            't%:\n\t@/bin/echo $@ >$@\n')
        return ['make', '-s', '-j2', '-C', str(folder)]

    def expected_work(self):
        return 40

    def probe(self, build):
        return f'{shutil.which("make")}:child_execute_job'

    def hits(self, work):
        return work + 1, work + 1

    def calls(self, work):
        return {('echo', 'execve'): (work, work)}

    def processes(self, work):
        # A shell and echo for each recipe; make and the last shell.
        return 2 * work + 2


class Pigz(Program):
    name = comm = 'pigz'
    needs = ('pigz', 'cksum')

    def build(self, folder):
        # Text that shrinks, always the same.
        (folder / 'text').write_text(
            ''.join(f'{i * i * 7919} ' for i in range(250000)))

    def command(self, build, folder, in_user_namespace):
        return ['sh', '-c', f'pigz -p 3 -b 128 -c "{build}/text" >"{folder}/z"'
                f' && pigz -dc "{folder}/z" | cmp - "{build}/text" && '
                f'cksum <"{folder}/z"; wc -c <"{build}/text"']

    def work(self, text):
        return -(-super().work(text) // (128 * 1024))  # blocks

    def expected_work(self):
        return None

    def probe(self, build):
        library = library_of(shutil.which('pigz'), 'libz.so')
        return f'{library}:deflateSetDictionary'

    def hits(self, work):
        return work - 1, work - 1  # the first block has none


class Hooked(Program):
    """A program with countrace's own hooks, whose path is given."""
    name = 'hooked'
    comm = 'hook_workload'

    def __init__(self, path):
        self.path = path

    def command(self, build, folder, in_user_namespace):
        return [str(self.path), 'pairs', '3', '30000']

    def output(self, text):
        return re.sub(r'emitted \d+', 'emitted', text)  # thread ids

    def expected_work(self):
        return 60000

    def probe(self, build):
        return f'{self.path}:main'


PROGRAMS = [Nginx(), Postgres(), Redis(), Sqlite(), Python(), Node(), Java(),
            Go(), Rust(), Git(), Make(), Pigz()]
