#!/usr/bin/env python3
"""countrace load into PostgreSQL: load_cases.py has what is tested."""

from engines import Postgres
from load_cases import LoadCases, main


class PostgresLoad(LoadCases):
    def make_older(self):
        self.engine.run(self.database, "UPDATE loads SET schema = 'countrace.tables/0'")

    def test_there_are_no_clusters(self):
        self.refused("web.ctf", options=["--cluster", "two"], status=2,
                     says=["ClickHouse"])


if __name__ == "__main__":
    main(PostgresLoad, Postgres)
