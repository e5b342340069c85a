"""Database servers of a test's own, in a temporary folder and on ports of their
own: ClickHouse, two shards of it, and PostgreSQL.

    engine = ClickHouse(folder)      # or another; Missing: why it cannot be
    engine.start()
    engine.rows("traces", "SELECT * FROM calls")   # of text; None: null
    engine.kill(); engine.start(); engine.stop()
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

PATIENCE_S = 300
USER, PASSWORD = "keeper", "no one reads this"
ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
           "0": "\0"}


class Missing(Exception):
    """Why there is no such server here."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def cells(line):
    return tuple(None if cell == "\\N" else
                 re.sub(r"\\(.)", lambda one: ESCAPES.get(one[1], one[1]), cell)
                 for cell in line.split("\t"))


def until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.05)


class ClickHouse:
    scheme = "clickhouse"
    options = ()  # of load

    CONFIG = """<yandex>
 <logger><level>warning</level><log>{0}/log</log><errorlog>{0}/errors</errorlog></logger>
 <http_port>{1}</http_port><tcp_port>{2}</tcp_port>
 <listen_host>{3}</listen_host>
 <path>{0}/data/</path><tmp_path>{0}/tmp/</tmp_path>
 <users_config>users.xml</users_config>
 <default_profile>default</default_profile>
 <default_database>default</default_database>
 <mark_cache_size>67108864</mark_cache_size>
 <remote_servers>{4}</remote_servers>
</yandex>"""
    USERS = """<yandex>
 <profiles><default/></profiles><quotas><default/></quotas><users>
 <default><password/><networks><ip>127.0.0.0/8</ip></networks>
  <profile>default</profile><quota>default</quota></default>
 <{0}><password>{1}</password><networks><ip>127.0.0.0/8</ip></networks>
  <profile>default</profile><quota>default</quota></{0}>
</users></yandex>"""

    def __init__(self, folder, host="127.0.0.1", ports=None, clusters=""):
        self.program = shutil.which("clickhouse-server")
        if self.program is None:
            raise Missing("clickhouse-server is not installed")
        self.folder = pathlib.Path(folder) / f"clickhouse-{host}"
        for name in ("data", "tmp"):
            (self.folder / name).mkdir(parents=True)
        self.host = host
        self.port, self.tcp = ports or (free_port(), free_port())
        self.configure(clusters)
        (self.folder / "users.xml").write_text(self.USERS.format(USER, PASSWORD))
        self.process = None

    def configure(self, clusters):
        (self.folder / "config.xml").write_text(self.CONFIG.format(
            self.folder, self.port, self.tcp, self.host, clusters))

    def start(self):
        with open(self.folder / "out", "ab") as out:
            self.process = subprocess.Popen(
                [self.program, f"--config-file={self.folder}/config.xml"],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        until(self.answers, (self.folder / "out").read_text()[-2000:])

    def answers(self):
        if self.process.poll() is not None:
            raise Missing("clickhouse-server ended: " +
                          (self.folder / "out").read_text()[-2000:])
        try:
            return self.ask("default", "SELECT 1") == "1\n"
        except OSError:
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def pids(self):
        return [self.process.pid]

    def address(self, database, user=""):
        return f"clickhouse://{user and user + '@'}{self.host}:{self.port}/{database}"

    def ask(self, database, sql):
        request = urllib.request.Request(
            f"http://{self.host}:{self.port}/?database={database}", sql.encode())
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise AssertionError((sql, error.read().decode())) from error

    def make(self, database):
        """load makes it itself."""

    def run(self, database, sql):
        self.ask(database, sql)

    def rows(self, database, select):
        text = self.ask(database, f"{select} FORMAT TabSeparated")
        return [cells(line) for line in text.split("\n")[:-1]]

    def stored(self, database, select):
        return [self.rows(database, select)]

    def columns(self, database, table):
        return [row[0] for row in self.rows("system", "SELECT name FROM columns WHERE "
                f"database = '{database}' AND table = '{table}'")]


class Shards:
    """Two servers of ClickHouse, the shards of the clusters `two` and, the first
    alone, `one`; `copies` has both for one shard. The first one is asked.
    """
    scheme = "clickhouse"
    options = ("--cluster", "two")

    def __init__(self, folder):
        ports = free_port(), free_port()
        first, second = (f"<replica><host>127.0.0.{last}</host><port>{ports[1]}</port>"
                         "</replica>" for last in (1, 2))
        self.shard = "<shard>{}</shard>".format
        self.places = first, second
        self.servers = [ClickHouse(folder, f"127.0.0.{last}", ports, self.clusters())
                        for last in (1, 2)]
        self.asked = self.servers[0]
        self.killed = 0

    def clusters(self, **others):
        first, second = self.places
        clusters = {"two": self.shard(first) + self.shard(second),
                    "copies": self.shard(first + second)} | others
        return "".join(f"<{name}>{shards}</{name}>"
                       for name, shards in clusters.items())

    def start(self):
        for server in self.servers:
            if server.process is None or server.process.poll() is not None:
                server.start()

    def kill(self):
        """One of them, in turn."""
        self.killed += 1
        self.servers[self.killed % 2].kill()

    def stop(self):
        for server in self.servers:
            server.stop()

    def pids(self):
        return [server.process.pid for server in self.servers]

    def stored(self, database, select):
        """What each shard has itself."""
        return [server.rows(f"{database}_local", select) for server in self.servers]

    def __getattr__(self, name):
        return getattr(self.asked, name)


class Postgres:
    scheme = "postgres"
    options = ()

    def __init__(self, folder):
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not found or shutil.which("psql") is None:
            raise Missing("postgresql is not installed")
        self.programs = found[-1].parent
        self.folder = pathlib.Path(folder) / "postgres"
        self.folder.mkdir(mode=0o755)
        self.as_user = []
        self.port = free_port()
        if os.geteuid() == 0:
            # The server refuses root.
            if shutil.which("runuser") is None:
                raise Missing("runuser is not installed")
            try:
                shutil.chown(self.folder, "postgres")
            except LookupError as error:
                raise Missing("there is no user postgres") from error
            self.as_user = ["runuser", "-u", "postgres", "--"]
        self.call(self.programs / "initdb", "-D", self.folder / "data", "-A", "trust",
                  "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "-N")
        rules = self.folder / "rules"
        rules.write_text(f"local all {USER} scram-sha-256\nlocal all all trust\n")
        rules.chmod(0o644)

    def call(self, *words):
        done = subprocess.run([*self.as_user, *map(str, words)], cwd="/",
                              capture_output=True, check=False, timeout=PATIENCE_S,
                              stdin=subprocess.DEVNULL, encoding="utf-8")
        if done.returncode != 0:
            raise AssertionError((words, done.stderr))
        return done.stdout

    def start(self):
        self.call(self.programs / "pg_ctl", "-s", "-w", "-t", PATIENCE_S, "-D",
                  self.folder / "data", "-l", self.folder / "log", "-o",
                  f"-k {self.folder} -c listen_addresses='' -p {self.port} "
                  f"-c hba_file={self.folder}/rules", "start")
        if USER not in self.ask("postgres", "SELECT rolname FROM pg_roles"):
            self.ask("postgres", f"CREATE ROLE {USER} SUPERUSER LOGIN PASSWORD "
                     f"'{PASSWORD}'")

    def pids(self):
        """The first process, which the others end with."""
        return [int((self.folder / "data/postmaster.pid").read_text().split("\n")[0])]

    def kill(self):
        (pid,) = self.pids()
        os.kill(pid, signal.SIGKILL)
        # A new one starts when all processes of this one have ended.
        until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "postgres ends")
        until(self.is_over, "the processes of postgres end")

    def is_over(self):
        data = os.fsencode(self.folder)
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.fsencode(os.readlink(process / "cwd")).startswith(data):
                    return False
            except OSError:
                continue
        return True

    def stop(self):
        if (self.folder / "data/postmaster.pid").exists():
            self.call(self.programs / "pg_ctl", "-s", "-m", "immediate", "-D",
                      self.folder / "data", "stop")

    def address(self, database, user="postgres"):
        host = str(self.folder).replace("/", "%2F")
        return f"postgres://{user or 'postgres'}@{host}:{self.port}/{database}"

    def ask(self, database, sql):
        return self.call("psql", "-XqAt", "-h", self.folder, "-p", self.port, "-U",
                         "postgres", "-d", database, "-c", sql)

    def make(self, database):
        self.ask("postgres", f'CREATE DATABASE "{database}"')

    def run(self, database, sql):
        self.ask(database, sql)

    def rows(self, database, select):
        text = self.ask(database, f"COPY ({select}) TO STDOUT")
        return [cells(line) for line in text.split("\n")[:-1]]

    def stored(self, database, select):
        return [self.rows(database, select)]

    def columns(self, database, table):
        return [row[0] for row in self.rows(
            database, "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass("
            f"'\"{table}\"') AND attnum > 0 ORDER BY attnum")]
