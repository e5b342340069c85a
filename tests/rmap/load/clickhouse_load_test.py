#!/usr/bin/env python3
"""countrace load into ClickHouse: load_cases.py has what is tested."""

from engines import ClickHouse
from load_cases import LoadCases, main


class ClickHouseLoad(LoadCases):
    def make_older(self):
        self.engine.run(self.database, "CREATE TABLE other AS loads ENGINE = "
                        "ReplacingMergeTree ORDER BY (trace, row)")
        listed = ", ".join(
            "'countrace.tables/0'" if name == "schema" else f'"{name}"'
            for name in self.engine.columns(self.database, "loads"))
        self.engine.run(self.database, f"INSERT INTO other SELECT {listed} FROM loads")
        self.engine.run(self.database, "DROP TABLE loads")
        self.engine.run(self.database, "RENAME TABLE other TO loads")


if __name__ == "__main__":
    main(ClickHouseLoad, ClickHouse)
