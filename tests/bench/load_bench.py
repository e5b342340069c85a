#!/usr/bin/env python3
"""How fast `countrace load` is: rows/s of a trace of calls into a ClickHouse of its
own, beside a plain INSERT of the same bytes into the same server, and into a
PostgreSQL beside its COPY; with the CPU time of both sides, which a busy machine
does not change. Then `countrace report` of what is loaded, beside that of the files.

Usage: load_bench.py [--clickhouse] BUILD [RECORDS]
  RECORDS       default 10,000,000: half as many calls
  --clickhouse  without PostgreSQL
"""

import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "rmap/load"))
# pylint: disable=wrong-import-position
from engines import ClickHouse, Missing, Postgres  # noqa: E402

BATCH_ROWS = 1_000_000


def cpu_of(pids):
    """Seconds, of the processes themselves."""
    ticks = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1]
        ticks += sum(map(int, fields.split()[11:13]))
    return ticks / 100


def measured(name, engine, job):
    """`job` returns its rows."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    server, begin = cpu_of(engine.pids()), time.monotonic()
    rows = job()
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime
    server = cpu_of(engine.pids()) - server
    print(f"{name}: rows={rows} wall_s={wall:.1f} rows_per_s={rows / wall:,.0f} "
          f"loader_cpu_s={own:.1f} server_cpu_s={server:.1f}", flush=True)
    return rows / wall


def reports(build, engine, trace):
    """From the files for the first time, with their index, and from the engine."""
    for name, what in (("files", trace), ("files, with the index", trace),
                       ("the engine", engine.address("ours"))):
        begin = time.monotonic()
        subprocess.run([build / "cli/countrace", "report", what], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        print(f"report from {name}: wall_s={time.monotonic() - begin:.2f}", flush=True)


QUESTION = ("SELECT host, segment, count(*) AS calls, max(end_ns - begin_ns) AS slowest "
            "FROM calls GROUP BY host, segment")


def tables(engine):
    """What fleet_sums.py computes with."""
    for name, rows, disk in engine.rows(
            "system", "SELECT table, sum(rows), sum(bytes) FROM parts WHERE active AND "
            "database = 'ours' GROUP BY table HAVING sum(rows) > 100000 ORDER BY table"):
        request = urllib.request.Request(
            f"http://127.0.0.1:{engine.port}/?database=ours",
            f"SELECT * FROM {name} LIMIT 100000 FORMAT RowBinary".encode())
        with urllib.request.urlopen(request) as answer:
            wire = len(answer.read()) / 100000
        print(f"table {name}: rows={rows} bytes_of_a_row_sent={wire:.0f} "
              f"bytes_of_a_row_on_disk={int(disk) / int(rows):.1f}")


def question(engine):
    rows = int(engine.rows("ours", "SELECT count() FROM calls")[0][0])

    def ask():
        engine.rows("ours", QUESTION)
        return rows
    for which in ("first", "again"):
        measured(f"GROUP BY host, segment, {which}", engine, ask)


def loads(build, engine, trace):
    engine.make("ours")
    subprocess.run([build / "cli/countrace", "load", engine.address("ours"), trace],
                   check=True, stderr=subprocess.DEVNULL)
    return int(engine.rows("ours", "SELECT rows FROM traces")[0][0])


def clickhouse(build, engine, trace, folder):
    ours = measured("countrace load clickhouse", engine,
                    lambda: loads(build, engine, trace))
    reports(build, engine, trace)
    tables(engine)
    question(engine)
    calls = int(engine.rows("ours", "SELECT count() FROM calls")[0][0])
    engine.run("default", "CREATE DATABASE raw")
    engine.run("raw", "CREATE TABLE calls AS ours.calls")
    parts = []
    for first in range(0, calls, BATCH_ROWS):
        part = folder / f"part{first}"
        request = urllib.request.Request(
            f"http://127.0.0.1:{engine.port}/?database=ours",
            f"SELECT * FROM calls WHERE row >= {first} AND row < "
            f"{first + BATCH_ROWS} FORMAT RowBinary".encode())
        with urllib.request.urlopen(request) as answer:
            part.write_bytes(answer.read())
        parts.append(part)
    print(f"bytes of a row: {sum(p.stat().st_size for p in parts) / calls:.0f}")

    def insert():
        for part in parts:
            with open(part, "rb") as rows:
                urllib.request.urlopen(urllib.request.Request(
                    f"http://127.0.0.1:{engine.port}/?database=raw&query="
                    "INSERT+INTO+calls+FORMAT+RowBinary", rows,
                    {"Content-Length": str(part.stat().st_size)})).read()
        return calls
    raw = measured("INSERT of the bytes of calls", engine, insert)
    print(f"ratio to the INSERT: {ours / raw:.2f}")
    ((disk,),) = engine.rows("system", "SELECT sum(bytes) FROM parts WHERE active AND "
                             "database = 'ours'")
    print(f"bytes on disk: {int(disk):,}")


def postgres(build, engine, trace):
    ours = measured("countrace load postgres", engine,
                    lambda: loads(build, engine, trace))
    reports(build, engine, trace)
    file = engine.folder / "calls.copy"
    engine.ask("ours", f"COPY calls TO '{file}' (FORMAT BINARY)")
    engine.ask("ours", "CREATE TABLE raw (LIKE calls INCLUDING ALL)")

    def copy():
        engine.ask("ours", f"COPY raw FROM '{file}' (FORMAT BINARY)")
        return int(engine.rows("ours", "SELECT count(*) FROM raw")[0][0])
    print(f"ratio to the COPY: {ours / measured('COPY of calls', engine, copy):.2f}")


def main():
    words = [word for word in sys.argv[1:] if word != "--clickhouse"]
    build = pathlib.Path(words[0]).resolve()
    records = words[1] if len(words) > 1 else "10000000"
    with tempfile.TemporaryDirectory(prefix="countrace-load-bench-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        trace = folder / "calls.ctf"
        subprocess.run([build / "tests/bench/synthetic_trace", trace, records, "4",
                        "200"], check=True, stdout=subprocess.DEVNULL)
        for kind in (ClickHouse, Postgres)[:1 if "--clickhouse" in sys.argv else 2]:
            try:
                engine = kind(folder)
            except Missing as why:
                print(f"SKIPPED: {why}")
                continue
            engine.start()
            try:
                if kind is ClickHouse:
                    clickhouse(build, engine, trace, folder)
                else:
                    postgres(build, engine, trace)
            finally:
                engine.stop()


if __name__ == "__main__":
    main()
