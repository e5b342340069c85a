#!/usr/bin/env python3
"""countrace load --cluster, into two shards of ClickHouse: load_cases.py has what
is tested of any engine.
"""

import os
import signal

from clickhouse_cases import ClickHouseCases
from engines import Shards
from load_cases import RECORDED, main

# The join that docs/engines.md shows.
JOINED = """SELECT host, comm, count() FROM calls ALL INNER JOIN
  (SELECT trace, thread, comm FROM threads) USING trace, thread
  GROUP BY host, comm"""


class ShardsLoad(ClickHouseCases):
    def make_older(self):
        for server in self.engine.servers:
            self.make_older_in(server, f"{self.database}_local")

    def setUp(self):
        super().setUp()
        self.engine.start()

    def test_all_rows_of_a_host_are_on_its_shard(self):
        if len(self.recorded) < len(RECORDED):
            self.skipTest("SKIPPED: nothing could be recorded")
        traces = [f"host{i % 4}={trace}" for i, trace in enumerate(self.recorded)]
        self.loaded(*traces)
        hosts = "SELECT DISTINCT host FROM {} ORDER BY host"
        first, second = self.engine.stored(self.database, hosts.format("traces"))
        self.assertTrue(first and second)
        self.assertEqual([(f"host{i}",) for i in range(4)], sorted(first + second))
        for table in self.names(self.exported(self.recorded[0]), "table"):
            there = self.engine.stored(self.database, hosts.format(table))
            self.assertLessEqual(set(there[0]), set(first), table)
            self.assertLessEqual(set(there[1]), set(second), table)
        made = self.engine.rows(self.database, "SHOW CREATE TABLE calls")[0][0]
        self.assertIn("Distributed", made)
        self.assertIn("cityHash64(host)", made)

    def test_a_join_of_each_shard_is_exact(self):
        traces = {f"host{i}": trace for i, trace in enumerate(
            ["web.ctf", *self.recorded])}
        self.loaded(*map("=".join, traces.items()))
        wanted = {(host, comm, calls) for host, trace in traces.items()
                  for comm, calls in self.exported(trace).execute(
                      "SELECT comm, count(*) FROM calls JOIN threads USING (thread) "
                      "GROUP BY comm")}
        self.assertEqual(wanted, {
            (host, comm, int(calls)) for host, comm, calls in self.engine.rows(
                f"{self.database}&distributed_product_mode=local", JOINED)})

    def test_a_cluster_that_is_not_there_is_named(self):
        self.refused("web.ctf", options=["--cluster", "three"],
                     says=["`three`", "copies, two"])
        self.refused("web.ctf", options=["--cluster", "copies"],
                     says=["replicas", "127.0.0.2"])

    def test_a_shard_that_is_added_gets_the_tables(self):
        if len(self.recorded) < len(RECORDED):
            self.skipTest("SKIPPED: nothing could be recorded")
        grown = ["--cluster", "grown"]
        places, some = self.engine.places, self.recorded[:3]
        for shards in (places[:1], places):
            self.engine.asked.configure(self.engine.clusters(
                grown="".join(map(self.engine.shard, shards))))
            self.engine.asked.stop()
            self.engine.start()
            traces = some if len(shards) == 1 else ["web.ctf"]
            # Also without one to load.
            for trace in traces:
                self.loaded(f"{trace}={trace}", options=grown)
            self.loaded(*some, options=grown)
            for trace in (*some, *traces):
                self.holds(trace)

    def test_a_shard_that_does_not_answer_is_named(self):
        self.loaded("web.ctf")
        second = self.engine.servers[1]
        os.kill(second.process.pid, signal.SIGSTOP)
        try:
            self.refused("big.ctf", "--timeout", "2s",
                         says=[f"127.0.0.2:{second.port}", "no answer within 2 s"])
        finally:
            os.kill(second.process.pid, signal.SIGCONT)
        second.kill()
        self.refused("big.ctf", says=["shard 2 of the cluster `two`",
                                      f"127.0.0.2:{second.port}"])

    def test_tables_of_one_server_and_of_a_cluster_are_not_mixed(self):
        self.loaded("web.ctf")
        self.refused("web.ctf", options=[], says=["with --cluster two"])
        self.loaded("web.ctf", options=[], database="alone")
        self.refused("web.ctf", database="alone", says=["without --cluster"])


if __name__ == "__main__":
    main(ShardsLoad, Shards)
