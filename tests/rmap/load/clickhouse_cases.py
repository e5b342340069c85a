"""What one ClickHouse and several have in common: views have no lock there."""

import load_cases
from engines import PASSWORD


class ClickHouseCases(load_cases.LoadCases):
    def make_older_in(self, server, database):
        server.run(database, "CREATE TABLE other AS loads ENGINE = "
                   "ReplacingMergeTree ORDER BY (trace, row)")
        listed = ", ".join(
            "'countrace.tables/0'" if name == "schema" else f'"{name}"'
            for name in server.columns(database, "loads"))
        server.run(database, f"INSERT INTO other SELECT {listed} FROM loads")
        server.run(database, "DROP TABLE loads")
        server.run(database, "RENAME TABLE other TO loads")

    def test_a_view_that_is_gone_gets_the_columns_of_all_traces(self):
        """As a loader leaves it that is killed while it makes a view again, and
        another one meets it that changes the same view.
        """
        if "hooks.ctf" not in self.recorded:
            self.skipTest("SKIPPED: nothing could be recorded")
        self.loaded("web.ctf", *self.recorded[1:])
        views = {view: self.engine.columns(self.database, view)
                 for view in self.names(self.exported("hooks.ctf"), "view")}
        for view in views:
            self.engine.run(self.database, f"DROP TABLE {view}")
        self.loaded("hooks.ctf")
        for view, columns in views.items():
            self.assertEqual(columns, self.engine.columns(self.database, view))
        self.has_views("web.ctf")

    def test_a_server_without_tls_gets_no_password(self):
        address = self.engine.address(self.database).replace(
            "clickhouse:", "clickhouses:")
        done = load_cases.run(
            load_cases.COUNTRACE, "load", address, "web.ctf", folder=self.folder,
            environment={"COUNTRACE_LOAD_PASSWORD": PASSWORD})
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn(address.partition("//")[2].partition("/")[0], done.stderr)
        self.assertNotIn(PASSWORD, done.stderr)
