"""README's table of the formats of `countrace export`: which programs opened each in
a run of consumers_test.py.
"""

import collections
import json
import os
import pathlib
import re
import subprocess

READERS = pathlib.Path(__file__).resolve().parent / "readers"
HEAD = "| `export --to` | opened in the tests by |\n|---|---|\n"
# By format: (reader, package of npm whose version is named).
FORMATS = {
    "sqlite": [("sqlite3", "")],
    "csv": [("DuckDB", "@duckdb/node-api"), ("pandas", "")],
    "jsonl": [("DuckDB", "@duckdb/node-api"), ("pandas", "")],
    "folded": [("speedscope", "speedscope"),
               ("Firefox Profiler's CLI", "@firefox-devtools/profiler-cli")],
    "pprof": [("`go tool pprof`", ""), ("pprof-format", "pprof-format"),
              ("speedscope", "speedscope")],
    "callgrind": [("callgrind_annotate", "")],
    "perfetto": [("protoc", "")],
    "html": [("Chromium", "")],
}
OPENED = collections.Counter()  # (format, reader): traces


def cell(reader, package):
    """`speedscope 1.25`: with the version of npm's package."""
    if package:
        locked = json.loads((READERS / "package.json").read_text())
        version = (locked["dependencies"] | locked["optionalDependencies"])[package]
        reader += " " + ".".join(version.split(".")[:2])
    return reader


def table_of_formats(old):
    """README's table, of the readers that opened a file in this run. One that did
    not, as it is not installed, stays if it was there."""
    lines = {}
    for form, readers in FORMATS.items():
        before = "".join(re.findall(rf"(?m)^\|[^|]*`{form}`[^|]*\|(.*)\|$", old))
        cells = [cell(*reader) for reader in readers
                 if OPENED[form, reader[0]] or cell(*reader) in before]
        lines.setdefault(", ".join(cells), []).append(form)
    return HEAD + "".join(
        f"| {' '.join(f'`{form}`' for form in forms)} | {cells} |\n"
        for cells, forms in lines.items())


def check_readme(source, countrace):
    """Exit status. A format that `export` has and no reader opens is an error."""
    asked = subprocess.run([countrace, "export", "--to", "?", "x"], check=False,
                           capture_output=True, text=True).stderr
    formats = set(re.search(r"not one of ([\w, ]+)", asked)[1].replace(" or ", ", ")
                  .replace(" ", "").split(","))
    if formats != set(FORMATS):
        print(f"readers are for {sorted(FORMATS)}, formats {sorted(formats)}")
        return 1
    readme = pathlib.Path(source) / "README.md"
    text = readme.read_text()
    (old,) = re.findall(re.escape(HEAD) + r"(?:\|.*\n)*", text) or [""]
    new = table_of_formats(old)
    if old == new:
        return 0
    if old and os.environ.get("COUNTRACE_UPDATE_GOLDEN") == "1":
        readme.write_text(text.replace(old, new))
        return 0
    print("README's table of formats is out of date; COUNTRACE_UPDATE_GOLDEN=1 "
          f"writes:\n{new}")
    return 1
