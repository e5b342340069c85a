#!/usr/bin/env python3
"""countrace load into ClickHouse: load_cases.py has what is tested."""

from clickhouse_cases import ClickHouseCases
from engines import ClickHouse
from load_cases import main


class ClickHouseLoad(ClickHouseCases):
    def make_older(self):
        self.make_older_in(self.engine, self.database)


if __name__ == "__main__":
    main(ClickHouseLoad, ClickHouse)
