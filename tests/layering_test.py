#!/usr/bin/env python3
"""Checks which module may include which (DESIGN: hooks -> runtime -> logformat
-> rmap -> viewer, cli over all), that neither units (x.h with x.cc) nor rooms
(folders of the product) include each other in a circle, nor files and rooms of
the page (types count, too), that a room has at most 25 units, and that code that
runs inside a user's process uses neither Abseil nor the C++ runtime library.

Usage: layering_test.py [--self-test] [ROOT]. Exit: 0 clean, 1 violations.
"""

import os
import pathlib
import re
import sys
import tempfile
import unittest

# Module -> modules it may include besides itself.
MAY_INCLUDE = {
    "base": set(),
    "hooks": set(),
    "logformat": {"base", "hooks"},
    "runtime": {"base", "hooks", "logformat"},
    "rmap": {"base", "logformat"},
    "viewer": {"base", "rmap", "logformat"},
    "cli": {"base", "hooks", "runtime", "logformat", "rmap", "viewer"},
    "examples": set(),  # installed headers only
    "tests": {"base", "hooks", "runtime", "logformat", "rmap", "viewer", "cli",
              "examples"},
}

# Third-party include prefix -> modules that may use it. A prefix that is not
# listed is the C or C++ library or the kernel's headers, free for all.
THIRD_PARTY = {
    "absl/": {"base", "runtime", "logformat", "rmap", "viewer", "cli", "examples",
              "tests"},
    "CLI/": {"cli"},
    "boost/": {"rmap", "viewer", "tests"},
    "babeltrace2/": {"logformat", "rmap", "tests"},
    "catch2/": {"tests"},
    "libpq-fe.h": {"rmap"},
    "nlohmann/": {"cli", "logformat", "rmap", "viewer", "tests"},
    "lttng/": {"hooks", "tests"},
    "perfmon/": {"runtime"},
    "re2/": {"rmap"},
    "sqlite3.h": {"rmap"},
    "protozero/": {"rmap"},
    "toml++/": {"base"},
    "traceevent/": {"logformat"},
}

# Folders whose code, with everything it includes, is compiled into a user's
# process.
INSIDE_USER_PROCESS = ("hooks/", "runtime/inprocess/")

# C++ headers that need no libstdc++.so at run time (templates and constants
# only). <string>, <vector>, <map>, <mutex>, streams and the rest are out.
FREESTANDING = {
    "algorithm", "array", "atomic", "bit", "cassert", "cerrno", "cinttypes",
    "climits", "compare", "concepts", "csignal", "cstdarg", "cstddef",
    "cstdint", "cstdio", "cstdlib", "cstring", "ctime", "initializer_list",
    "iterator", "limits", "new", "numeric", "span", "string_view", "tuple",
    "type_traits", "utility", "version",
}

BANNED_STEMS = {"util", "utils", "helper", "helpers", "common", "misc",
                "manager"}

UNITS_OF_ROOM = 25
SOURCE_SUFFIXES = {".h", ".hpp", ".c", ".cc", ".cpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
PAGE = "viewer/web/src"
# import, import type, export ... from, import(): each of a file beside it.
IMPORT = re.compile(
    r"""^(?:import|export|\}).*?from '(\.[^']+)'|\bimport\(?\s*'(\.[^']+)'""", re.MULTILINE)
# Installed headers are included as <countrace/...>.
INSTALLED_PREFIX = "countrace/"
INSTALLED_FOLDER = "hooks/include/"


# Third-party include prefix -> the one folder of a module that may use it: a
# program that links libbabeltrace2 can die of a trace.
ONLY_IN = {("examples", "absl/"): "examples/own_analysis/",
           ("logformat", "babeltrace2/"): "logformat/import/",
           ("rmap", "babeltrace2/"): "rmap/babeltrace_plugin/",
           ("rmap", "boost/"): ("rmap/result/", "rmap/load/"),
           ("rmap", "libpq-fe.h"): "rmap/load/",
           ("rmap", "re2/"): "rmap/where/",
           ("rmap", "sqlite3.h"): "rmap/export/",
           ("rmap", "protozero/"): "rmap/export/",
           ("logformat", "nlohmann/"): "logformat/import/ctf/",
           ("logformat", "traceevent/"): "logformat/import/perf/"}


def sources(root):
    """Relative paths of all C and C++ files of the modules."""
    found = []
    for module in MAY_INCLUDE:
        base = root / module
        if not base.is_dir():
            continue
        for path in sorted(base.rglob("*")):
            relative = path.relative_to(root).as_posix()
            if "node_modules/" in relative or not path.is_file():
                continue
            if path.suffix in SOURCE_SUFFIXES:
                found.append(relative)
    return found


def resolve(root, including, spelled):
    """Where an include of the project lives, or None if it is not ours."""
    if spelled.startswith(INSTALLED_PREFIX):
        candidate = INSTALLED_FOLDER + spelled
        return candidate if (root / candidate).is_file() else None
    if (root / spelled).is_file() and spelled.split("/")[0] in MAY_INCLUDE:
        return spelled
    beside = (root / including).parent / spelled
    if beside.is_file():
        return beside.resolve().relative_to(root.resolve()).as_posix()
    return None


def includes_of(root, relative):
    text = (root / relative).read_text(encoding="utf-8", errors="replace")
    return [(text.count("\n", 0, match.start(2)) + 1, match.group(1),
             match.group(2)) for match in INCLUDE.finditer(text)]


def installed_headers(root, file_set):
    """The headers of the analysis libraries in a FILE_SET of this name."""
    headers = set()
    for module in ("base", "logformat", "rmap"):
        listed = root / module / "CMakeLists.txt"
        if not listed.is_file():
            continue
        for files in re.findall(
                rf"FILE_SET {file_set} TYPE HEADERS[^)]*?FILES\n"
                r"((?:\s+[\w/]+\.h)+)", listed.read_text()):
            headers |= {f"{module}/{name}" for name in files.split()}
    return headers


def check(root):
    """Returns one message for each violation."""
    problems = []
    files = sources(root)
    graph = {relative: includes_of(root, relative) for relative in files}
    api = installed_headers(root, "api")
    installed = api | installed_headers(root, "api_support")

    for relative in files:
        module = relative.split("/")[0]
        if pathlib.PurePosixPath(relative).stem in BANNED_STEMS:
            problems.append(f"{relative}: this name says nothing; name the "
                            "file for the one thing it holds")
        for line, quote, spelled in graph[relative]:
            where = f"{relative}:{line}: includes {spelled}: "
            for prefix, allowed in THIRD_PARTY.items():
                if spelled.startswith(prefix) and module not in allowed:
                    problems.append(where + f"{module}/ may not use {prefix}")
            for (folder, prefix), only in ONLY_IN.items():
                if (module == folder and spelled.startswith(prefix) and
                        not relative.startswith(only)):
                    problems.append(where + f"only {only} may use {prefix}")
            target = resolve(root, relative, spelled)
            if target is None:
                first = spelled.split("/")[0]
                if quote == '"' and first in MAY_INCLUDE and "/" in spelled:
                    problems.append(where + "no such file")
                continue
            if relative in installed and target not in installed:
                problems.append(where + "an installed header includes one that "
                                "is in no FILE_SET of its CMakeLists.txt")
            other = target.split("/")[0]
            if module == "examples" and not target.startswith("examples/"):
                if (not spelled.startswith(INSTALLED_PREFIX) and
                        target not in api):
                    problems.append(where + "examples use installed headers, "
                                    "<countrace/...> or the analysis API's, "
                                    "only")
                continue
            if other != module and other not in MAY_INCLUDE[module]:
                problems.append(where + f"{module}/ may include " + (", ".join(
                    sorted(MAY_INCLUDE[module])) or "no other module"))

    problems += check_circles("units", edges(
        root, graph, lambda relative: relative.rsplit(".", 1)[0]))
    product = {relative: includes for relative, includes in graph.items()
               if relative.split("/")[0] not in ("tests", "examples")}
    problems += check_circles("rooms", edges(
        root, product, lambda relative: relative.rsplit("/", 1)[0]))
    problems += check_room_sizes(product)
    problems += check_page(root)
    problems += check_inside_user_process(root, files, graph)
    return problems


def check_page(root):
    """The page's TypeScript: circles of files and of rooms, and their sizes."""
    graph = {}
    for path in sorted((root / PAGE).rglob("*.ts*")):
        text = path.read_text(encoding="utf-8")
        graph[path.relative_to(root).as_posix()] = [
            (text.count("\n", 0, match.start()) + 1, "'", match[1] or match[2])
            for match in IMPORT.finditer(text)]
    return (check_circles("files", edges(root, graph, str, resolve_import)) +
            check_circles("rooms", edges(
                root, graph, lambda relative: relative.rsplit("/", 1)[0],
                resolve_import)) +
            check_room_sizes(graph))


def resolve_import(root, importing, spelled):
    """The file that a relative import names, or None."""
    beside = pathlib.Path(os.path.normpath(pathlib.Path(importing).parent / spelled))
    for ending in (".ts", ".tsx"):
        named = beside.with_name(beside.name + ending)
        if (root / named).is_file():
            return named.as_posix()
    return None


def edges(root, graph, group_of, resolve_one=resolve):
    """group -> {group that it includes: where it does first}."""
    groups = {}
    for relative, includes in graph.items():
        group = group_of(relative)
        found = groups.setdefault(group, {})
        for line, _, spelled in includes:
            target = resolve_one(root, relative, spelled)
            other = target and group_of(target)
            if other and other != group:
                found.setdefault(other, f"{relative}:{line}")
    return groups


def check_circles(kind, groups):
    """One message for each include circle, a shortest one for each group that is
    in any, until all groups of it are named."""
    problems, named = [], set()
    for start in sorted(groups):
        if start in named:
            continue
        # Breadth first: the first way back is a shortest one.
        way_to, queue = {}, [start]
        while queue and start not in way_to:
            group = queue.pop(0)
            for other in sorted(groups.get(group, {})):
                if other not in way_to:
                    way_to[other] = group
                    queue.append(other)
        if start not in way_to:
            continue
        steps, group = [], start
        while True:
            before = way_to[group]
            steps.append(f"{groups[before][group]} includes {group}")
            named.add(group)
            group = before
            if group == start:
                break
        problems.append(f"{kind} include each other in a circle: " +
                        "; ".join(reversed(steps)))
    return problems


def check_room_sizes(graph):
    rooms = {}
    for relative in graph:
        room, _, name = relative.rpartition("/")
        rooms.setdefault(room, set()).add(name.rsplit(".", 1)[0])
    return [f"{room}: {len(units)} units, at most {UNITS_OF_ROOM}: make rooms in it"
            for room, units in sorted(rooms.items())
            if len(units) > UNITS_OF_ROOM]


def check_inside_user_process(root, files, graph):
    """Follows includes from the in-process folders through other modules."""
    problems = []
    for start in files:
        if not start.startswith(INSIDE_USER_PROCESS):
            continue
        seen, stack = {start}, [(start, ())]
        while stack:
            relative, path = stack.pop()
            for line, _, spelled in graph.get(relative, []):
                chain = path + (f"{relative}:{line}",)
                if spelled.startswith("absl/"):
                    problems.append(" -> ".join(chain) + f": {spelled} would "
                                    "bring Abseil into a user's process")
                is_cxx_library = re.fullmatch(r"[a-z_]+", spelled) is not None
                if is_cxx_library and spelled not in FREESTANDING:
                    problems.append(" -> ".join(chain) + f": <{spelled}> needs"
                                    " libstdc++ in a user's process")
                target = resolve(root, relative, spelled)
                if target is not None and target not in seen:
                    seen.add(target)
                    stack.append((target, chain))
    return problems


class LayeringSelfTest(unittest.TestCase):
    """Each rule is shown to fail, so that silence means something."""

    def problems_of(self, tree):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in tree.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check(root)

    def test_downward_includes_are_clean(self):
        self.assertEqual([], self.problems_of({
            "logformat/a.h": "#include <vector>\n",
            "rmap/b.cc": '#include "logformat/a.h"\n#include "absl/x.h"\n',
            "hooks/include/countrace/hooks.h": "#include <atomic>\n",
            "examples/x/main.cc": "#include <countrace/hooks.h>\n"}))

    def test_upward_include_is_found(self):
        self.assertEqual(1, len(self.problems_of({
            "rmap/b.h": "", "logformat/a.cc": '#include "rmap/b.h"\n'})))

    def test_sideways_include_is_found(self):
        self.assertEqual(1, len(self.problems_of({
            "runtime/recorder/b.h": "",
            "viewer/a.cc": '#include "runtime/recorder/b.h"\n'})))

    def test_angle_brackets_do_not_hide_an_upward_include(self):
        self.assertEqual(1, len(self.problems_of({
            "rmap/b.h": "", "logformat/a.cc": "#include <rmap/b.h>\n"})))

    def test_include_beside_the_file_cannot_leave_the_module(self):
        self.assertEqual(1, len(self.problems_of({
            "rmap/b.h": "", "logformat/a.cc": '#include "../rmap/b.h"\n'})))

    def test_cycle_of_units_is_found(self):
        # No header includes its own user: only the .cc files close the circle.
        tree = {"rmap/a.h": "", "rmap/a.cc": '#include "rmap/b.h"\n',
                "rmap/b.h": "", "rmap/b.cc": '#include "rmap/c.h"\n',
                "rmap/c.h": '#include "rmap/a.h"\n'}
        problems = self.problems_of(tree)
        self.assertEqual(1, len(problems), problems)
        self.assertIn("rmap/a.cc:1 includes rmap/b; "
                      "rmap/b.cc:1 includes rmap/c; "
                      "rmap/c.h:1 includes rmap/a", problems[0])
        tree["rmap/c.h"] = ""
        self.assertEqual([], self.problems_of(tree))

    def test_circle_of_rooms_is_found(self):
        # No unit is in a circle.
        tree = {"rmap/a/x.cc": '#include "rmap/b/x.h"\n', "rmap/a/y.h": "",
                "rmap/b/x.h": "", "rmap/b/y.cc": '#include "rmap/a/y.h"\n'}
        problems = self.problems_of(tree)
        self.assertEqual(1, len(problems), problems)
        self.assertIn("rooms include each other", problems[0])
        tree["rmap/b/y.cc"] = ""
        self.assertEqual([], self.problems_of(tree))

    def test_room_of_too_many_units_is_found(self):
        tree = {f"rmap/a/x{i}.{end}": "" for i in range(UNITS_OF_ROOM)
                for end in ("h", "cc")}
        self.assertEqual([], self.problems_of(tree))
        tree["rmap/a/y.h"] = ""
        self.assertEqual(1, len(self.problems_of(tree)))

    def test_circle_of_the_page_is_found(self):
        folder = PAGE + "/"
        tree = {folder + "a.ts": "import {b} from './b';\n",
                folder + "b.tsx": "import type {C} from './c/c';\n",
                folder + "c/c.ts": "export * from '../a';\n"}
        problems = self.problems_of(tree)
        self.assertEqual(2, len(problems), problems)
        self.assertIn("files include each other in a circle: "
                      f"{folder}a.ts:1 includes {folder}b.tsx", problems[0])
        self.assertIn("rooms include each other", problems[1])
        tree[folder + "c/c.ts"] = "// import {a} from 'a';\n"
        self.assertEqual([], self.problems_of(tree))

    def test_unit_may_include_its_own_header(self):
        self.assertEqual([], self.problems_of({
            "rmap/a.h": "", "rmap/a.cc": '#include "rmap/a.h"\n'}))

    def test_missing_file_is_found(self):
        self.assertEqual(1, len(self.problems_of({
            "rmap/a.cc": '#include "logformat/gone.h"\n'})))

    def test_abseil_in_hooks_is_found(self):
        self.assertTrue(self.problems_of({
            "hooks/a.cc": '#include "absl/status/status.h"\n'}))

    def test_abseil_reaching_the_process_through_logformat_is_found(self):
        problems = self.problems_of({
            "logformat/a.h": '#include "logformat/b.h"\n',
            "logformat/b.h": '#include "absl/status/status.h"\n',
            "runtime/inprocess/c.cc": '#include "logformat/a.h"\n'})
        self.assertEqual(1, len(problems))
        self.assertIn("logformat/a.h:1 -> logformat/b.h:1", problems[0])

    def test_libstdcxx_in_the_process_is_found(self):
        self.assertEqual(1, len(self.problems_of({
            "runtime/inprocess/c.cc": "#include <string>\n"})))
        self.assertEqual([], self.problems_of({
            "runtime/recorder/c.cc": "#include <string>\n"}))

    def test_example_with_private_header_is_found(self):
        self.assertEqual(1, len(self.problems_of({
            "logformat/a.h": "",
            "examples/x/main.cc": '#include "logformat/a.h"\n'})))

    def test_example_with_header_of_the_analysis_api_is_clean(self):
        tree = {"rmap/a.h": "", "examples/x/main.cc": '#include "rmap/a.h"\n',
                "rmap/CMakeLists.txt": "target_sources(x PUBLIC\n"
                "  FILE_SET api TYPE HEADERS BASE_DIRS y\n  FILES\n    a.h)\n"}
        self.assertEqual([], self.problems_of(tree))
        tree |= {"rmap/a.h": '#include "rmap/b.h"\n', "rmap/b.h": ""}
        self.assertIn("in no FILE_SET", "".join(self.problems_of(tree)))

    def test_third_party_library_in_the_wrong_module_is_found(self):
        self.assertEqual(1, len(self.problems_of({
            "rmap/a.cc": "#include <CLI/CLI.hpp>\n"})))

    def test_babeltrace_outside_its_folder_is_found(self):
        include = "#include <babeltrace2/babeltrace.h>\n"
        self.assertEqual(1, len(self.problems_of({"rmap/a.cc": include})))
        self.assertEqual(1, len(self.problems_of({"logformat/a.cc": include})))
        self.assertEqual([], self.problems_of({"rmap/babeltrace_plugin/a.cc": include}))

    def test_banned_name_is_found(self):
        self.assertEqual(1, len(self.problems_of({"rmap/util.cc": ""})))


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--self-test"]:
        unittest.main(argv=[sys.argv[0], "-v"])
    root = pathlib.Path(arguments[0] if arguments else
                        pathlib.Path(__file__).parent.parent)
    files = sources(root)
    if not files:
        print(f"layering: no sources under {root}")
        return 1
    problems = check(root)
    for problem in problems:
        print(f"layering: {problem}")
    print(f"layering: {len(files)} files, {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
