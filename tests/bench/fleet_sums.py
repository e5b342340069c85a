#!/usr/bin/env python3
"""What a site of many hosts needs, from the figures that load_bench.py measures: rows,
bytes, processors and money a day, and how long a cluster takes to answer. docs/fleet.md
has the table that this prints; what is assumed are the options.

Usage: load_bench.py --clickhouse BUILD 202000000 | fleet_sums.py [options]
"""

import argparse
import re
import sys

DAY_S = 86_400


def measured(text):
    """Figures of load_bench.py: seconds of a row, rows of a core second, bytes."""
    load = re.search(r"^countrace load clickhouse: rows=(\d+) .*"
                     r"loader_cpu_s=([\d.]+) server_cpu_s=([\d.]+)", text, re.M)
    asked = re.search(r"^GROUP BY .*, first: rows=(\d+) .*server_cpu_s=([\d.]+)", text,
                      re.M)
    tables = {name: (float(sent), float(disk)) for name, sent, disk in re.findall(
        r"^table (\w+): .*_sent=([\d.]+) .*_disk=([\d.]+)", text, re.M)}
    if not load or not asked or not {"calls", "dispatches", "waits"} <= set(tables):
        sys.exit("fleet_sums.py: this is no output of load_bench.py --clickhouse, or "
                 "of too few records for all tables: 202000000")
    return (float(load[2]) / int(load[1]), float(load[3]) / int(load[1]),
            int(asked[1]) / float(asked[2]), tables)


def column(given, figures, share):
    loader_s, server_s, scanned, tables = figures
    seconds = given.hosts * DAY_S * share
    rows = {"calls": given.calls * seconds, "dispatches": given.switches * seconds,
            "waits": given.switches * seconds}
    total = sum(rows.values())
    sent, disk = (sum(rows[name] * tables[name][i] for name in rows) for i in (0, 1))
    loading = total * (loader_s + server_s) / DAY_S
    kept = disk * given.days
    money = (given.shards * given.cores + total * loader_s / DAY_S) * 24 * \
        given.vcpu_hour + kept / 1e9 * given.gb_month / 30
    answer = rows["calls"] / given.shards / given.cores / scanned
    return [f"{total / 1e9:,.1f} G", f"{sent / 1e12:,.2f} TB",
            f"{disk / 1e12:,.2f} TB", f"{kept / 1e12:,.1f} TB",
            f"{loading:,.1f}", f"{total * server_s / DAY_S / given.shards:.3f}",
            f"{rows['calls'] / given.shards / 1e6:,.0f} M", f"{answer:,.2f} s",
            f"${money:,.0f}"]


NAMES = ("rows a day", "sent a day", "on disk, a day", "on disk, all days kept",
         "CPUs that load (loaders and servers)", "of them at each shard",
         "calls of a day at each shard",
         "`GROUP BY host, segment` of all calls of a day", "money a day")


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("hosts", 10_000), ("calls", 100), ("switches", 1000),
                          ("shards", 64), ("cores", 8), ("days", 7),
                          ("gb_month", 0.08), ("vcpu_hour", 0.04)):
        parser.add_argument(f"--{name}", type=float, default=default)
    given = parser.parse_args()
    figures = measured(sys.stdin.read())
    columns = [column(given, figures, share) for share in (1 / 60, 1)]
    print("| | a minute of each hour | all the time |\n|---|---|---|")
    for line in zip(NAMES, *columns):
        print(f"| {' | '.join(line)} |")


if __name__ == "__main__":
    main()
