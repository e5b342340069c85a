#!/usr/bin/env python3
"""How fast `countrace load` is: rows/s of a trace of calls into a ClickHouse of its
own, beside a plain INSERT of the same bytes into the same server, and into a
PostgreSQL beside its COPY; with the CPU time of both sides, which a busy machine
does not change.

Usage: load_bench.py BUILD [RECORDS]   (default 10,000,000: half as many calls)
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


def loads(build, engine, trace):
    engine.make("ours")
    subprocess.run([build / "cli/countrace", "load", engine.address("ours"), trace],
                   check=True, stderr=subprocess.DEVNULL)
    return int(engine.rows("ours", "SELECT rows FROM traces")[0][0])


def clickhouse(build, engine, trace, folder):
    ours = measured("countrace load clickhouse", engine,
                    lambda: loads(build, engine, trace))
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
    file = engine.folder / "calls.copy"
    engine.ask("ours", f"COPY calls TO '{file}' (FORMAT BINARY)")
    engine.ask("ours", "CREATE TABLE raw (LIKE calls INCLUDING ALL)")

    def copy():
        engine.ask("ours", f"COPY raw FROM '{file}' (FORMAT BINARY)")
        return int(engine.rows("ours", "SELECT count(*) FROM raw")[0][0])
    print(f"ratio to the COPY: {ours / measured('COPY of calls', engine, copy):.2f}")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    records = sys.argv[2] if len(sys.argv) > 2 else "10000000"
    with tempfile.TemporaryDirectory(prefix="countrace-load-bench-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        trace = folder / "calls.ctf"
        subprocess.run([build / "tests/bench/synthetic_trace", trace, records, "4",
                        "200"], check=True, stdout=subprocess.DEVNULL)
        for kind in (ClickHouse, Postgres):
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
