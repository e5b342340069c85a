#!/usr/bin/env python3
"""The texts of help, wrong usage and what bash completes, with the real
`countrace`.

Usage: program_usage_test.py COUNTRACE HELLO_HOOKS [unittest options].
"""

import os
import pathlib
import re
import shutil
import subprocess

from program_runs import VERBS, InFolder, Programs, main, options_of, run

HELP = pathlib.Path(__file__).parents[2] / "cli/help"


class Help(InFolder):
    PAGE_LINES = 50  # two screens

    def help(self, *arguments):
        done = run("help", *arguments)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return done.stdout

    def text(self, name):
        return (HELP / f"{name}.txt").read_text()

    def topics(self, name):
        return re.findall(r"(?m)^topic (\w+): ", self.text(name))

    def test_overview_names_every_verb_with_its_summary(self):
        overview = self.help()
        self.assertEqual(overview, run("--help").stdout)
        for verb in VERBS:
            summary = self.text(verb).splitlines()[0]
            self.assertIn(f"\n  {verb:<9} {summary}\n", overview)

    def test_each_verb_prints_its_text_and_teaches(self):
        for verb in VERBS:
            with self.subTest(verb=verb):
                page = self.help(verb)
                self.assertEqual(page, run(verb, "--help").stdout)
                self.assertTrue(page.startswith(f"countrace {verb}: "))
                shown = iter(self.help(verb, "all").splitlines())
                for line in self.text(verb).splitlines()[1:]:
                    if line.startswith(("@include ", "topic ")):
                        continue
                    self.assertIn(line, shown)  # all lines, in this order
                if verb != "version":
                    self.assertIn("examples:", page)

    def test_a_page_fits_two_screens_of_80_columns(self):
        for name in VERBS + ["trace"]:
            for topic in [[], *[[each] for each in self.topics(name)]]:
                with self.subTest(name=name, topic=topic):
                    lines = self.help(name, *topic).splitlines()
                    self.assertLessEqual(len(lines), self.PAGE_LINES)
                    self.assertLessEqual(max(map(len, lines)), 80)

    def test_each_topic_is_listed_and_is_a_part_of_all(self):
        for verb in VERBS:
            for topic in self.topics(verb):
                with self.subTest(verb=verb, topic=topic):
                    self.assertRegex(self.help(verb), rf"(?m)^  {topic} ")
                    self.assertIn(self.help(verb, topic),
                                  self.help(verb, "all"))

    def test_each_option_of_a_text_is_one_of_the_verb(self):
        # The parser checks that a text has each option of its verb.
        for verb in VERBS:
            for option in set(options_of(verb)) - {"--help"}:
                with self.subTest(verb=verb, option=option):
                    # An option with a value consumes the first of the two.
                    done = run(verb, option, *["--no-such-option"] * 2)
                    self.assertEqual(2, done.returncode, done)
                    self.assertNotIn(f"unknown option {option}", done.stderr)


class WrongUsage(InFolder):
    def check_usage(self, arguments, *expected):
        done = run(*arguments)
        self.assertEqual(2, done.returncode, done)
        self.assertEqual("", done.stdout)
        for text in expected:
            self.assertIn(text, done.stderr)
        self.assertIn("countrace help", done.stderr)
        self.assertEqual([], os.listdir(), "wrong usage must leave nothing")

    def test_wrong_usage_is_named_with_a_hint(self):
        cases = [
            ([], "verb is missing"),
            (["recrod"], "recrod", "did you mean `record`?"),
            (["\x1b[31mx"], "\\x1b[31mx"),
            (["help", "recrod"], "did you mean `record`?"),
            (["help", "record", "trigers"], "did you mean `triggers`?"),
            (["help", "version", "dump"], "no topics"),
            (["report", "--frmat", "json"], "--frmat", "--format?"),
            (["report", "--format", "xml"], "xml", "json"),
            (["report", "--by", "color"], "color", "segment"),
            (["report", "--by", "proces"], "did you mean process?"),
            (["report", "--rows", "many"], "many"),
            (["report", "--every", "5ms"], "--every", "--by time"),
            (["report", "--by", "time", "--every", "soon"], "soon", "10s"),
            (["report", "--by", "waker", "--group", "thread"],
             "--group-by?"),
            (["report", "--by", "function", "--group-by", "tid"],
             "--group-by", "cgroup"),
            (["report", "--sort", ""], "--sort", "name of a field"),
            (["report", "--group-by", "color"], "--group-by", "cgroup"),
            (["report", "--by", "user", "--group-by", "comm"],
             "--by process"),
            (["report", "--by", "time", "--group-by", "comm"],
             "--group-by", "--process, --thread, --segment"),
            (["report", "--metrics", "--group-by", "comm"],
             "--group-by", "metrics"),
            (["report", "--by", "time", "--fold-recursion"],
             "--fold-recursion", "call paths"),
            (["report", "--by", "function", "--fold-recursion"],
             "--fold-recursion", "--by calltree"),
            (["report", "--by", "callees"], "--function", "whose callees"),
            (["report", "--at", "5ms", "--to", "1s"], "--at", "--window"),
            (["report", "--window", "5ms"], "--window needs --at"),
            (["report", "--slowest", "3"], "--slowest 3", "--slowest 10"),
            (["report", "--slowest", "0", "a:b"], "--slowest 0", "1 to"),
            (["report", "--slowest", "many", "a:b"], "--slowest many"),
            (["report", "--slowest", "3", "a:b", "--by", "path"],
             "single calls", "--by"),
            (["report", "--at", ""], "--at", "help state instants"),
            (["report", "--from", "1ms", "--metric", "x = cycles", "--with",
              "a=b.ctf"], "--with", "whole traces"),
            (["verify", "a.ctf", "b.ctf"], "b.ctf"),
            (["report", "--color", "pink"], "pink", "never"),
            (["info", "--format", "csv"], "csv"),
            (["view", "--port", "70000"], "70000"),
            (["view", "a.ctf", "--beside", "b.ctf", "--at", "5ms"],
             "--beside shows two traces", "--at"),
            (["view", "a.ctf", "--beside", ""], "--beside"),
            (["export", "a.ctf", "-o", "a.html"], "--to html"),
            (["export", "a.ctf", "--to", "svg"], "svg", "html"),
            (["export", "a.ctf", "--to", "html"], "-o FILE"),
            (["diff"], "BEFORE AFTER"),
            (["diff", "--thresold", "5%", "a.ctf", "b.ctf"], "--threshold?"),
            (["state"], "--at 50%", "--next"),
            (["state", "--next", "page"], "page", "dispatch"),
            (["state", "--next", "hook", "--previous", "hook"], "exclude"),
            (["state", "--at", "5ms", "--of", "7"], "--of", "--next"),
            (["list"], "tracepoints or metrics"),
            (["list", "metrics", "x.ctf"], "x.ctf"),
            (["report", "--metric", "x"], "--metric:1:1", "NAME = EXPRESSION"),
            (["report", "--metric", "x = (cycles"], "--metric:1:12",
             "\n  (cycles\n         ^\n"),
            (["report", "--with", "a=b.ctf"], "--metric"),
            (["report", "--rules", "gone.toml"], "gone.toml"),
            (["report", "--where", "comm = 'x'"], "--where:1:6", "write ==",
             "\n  comm = 'x'\n       ^\n"),
            (["record", "-p", "x"], "-p x", "process id"),
            (["record", "-p", "0"], "-p 0", "process id"),
            (["record", "-a", "-p", "1"], "-a", "-p"),
            (["record", "--backend", "dtrace", "--", "true"], "dtrace", "perf"),
            (["record", "--kernel", "syscals", "--", "true"], "syscals",
             "wakeups"),
            (["record", "--kernel", "wakeups", "--no-kernel", "--", "true"],
             "--no-kernel"),
            (["list", "dreams"], "dreams"),
            (["list", "events", "x.ctf"], "x.ctf"),
            (["version", "1"], "1"),
            (["record"], "nothing to record"),
            (["record", "--sizes", "64M", "true"], "--sizes"),
            (["record", "--size", "64Q", "--mode", "discard", "true"], "64Q",
             "64M"),
            (["record", "--size", "64M", "true"], "--mode discard"),
            (["record", "--for", "soon", "-a"], "soon", "10s"),
            (["record", "--mode", "flight", "true"], "flight", "discard"),
            (["record", "--flight", "64", "true"], "--flight 64", "256K"),
            (["record", "--split", "0.5s", "-a"], "--split", "at least 1s"),
            (["record", "--split", "1h", "--flight", "1h", "-a"], "--split", "leave out --flight"),
            (["record", "--keep", "1h", "-a"], "--keep", "--split or --trigger"),
            (["record", "--trigger", "every", "-a"], "--trigger", "a duration"),
            (["record", "-o"], "-o"),
            (["record", "--hook-events", "page-faults", "--dump",
              "hello:* evry 5", "true"], "--dump:1:9", "evry", "at most every"),
            (["record", "--dump", "every 5", "true"], "--hook-events"),
            (["record", "--format", "json", "true"], "--dry-run-rules"),
            (["record", "--dry-run-rules", "x.ctf"], "--dump"),
            (["record", "--dry-run-rules", "x.ctf", "--dump", "every 5",
              "true"], "no command"),
        ]
        for arguments, *expected in cases:
            with self.subTest(arguments=arguments):
                self.check_usage(arguments, *expected)

    def test_unknown_event_is_named_with_the_way_to_find_one(self):
        done = run("record", "-e", "page-fautls", "true")
        self.assertEqual(2, done.returncode, done)
        self.assertIn("page-fautls", done.stderr)
        self.assertIn("countrace list events", done.stderr)


class Completion(InFolder):
    SCRIPT = (pathlib.Path(__file__).parents[2] /
              "cli/completion/countrace.bash")

    def complete(self, *words):
        """The completions that bash offers for the last of `words`."""
        done = subprocess.run(
            ["bash", "-c", f'source "{self.SCRIPT}"; COMP_WORDS=("$@"); '
             "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _countrace; "
             'printf "%s\\n" "${COMPREPLY[@]}"', "bash", Programs.countrace, *words],
            capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual("", done.stderr)
        return done.stdout.split()

    def test_every_verb_is_offered(self):
        self.assertEqual(sorted(VERBS), sorted(self.complete("")))
        self.assertEqual(["record", "recover", "replay", "report"],
                         sorted(self.complete("re")))

    def test_every_option_of_a_verb_is_offered(self):
        for verb in VERBS:
            options = options_of(verb)
            self.assertIn("--help", options)
            self.assertEqual(options, self.complete(verb, "-"))

    def test_topics_are_offered(self):
        self.assertEqual(["triggers"], self.complete("help", "record", "t"))
        self.assertIn("all", self.complete("help", "report", ""))
        self.assertEqual([], self.complete("help", "version", ""))

    def test_what_can_be_listed_is_offered(self):
        self.assertEqual(["metrics"], self.complete("list", "m"))

    def test_files_and_values_are_offered(self):
        os.mkdir("web.ctf")
        self.assertEqual(["web.ctf"], self.complete("report", "w"))
        self.assertEqual(["json", "jsonl"],
                         self.complete("report", "--format", "j"))
        self.assertEqual(["markdown"],
                         self.complete("diff", "--format", "m"))

    def test_fish_offers_the_same(self):
        if shutil.which("fish") is None:
            self.skipTest("SKIPPED: fish is not installed")
        script = self.SCRIPT.with_suffix(".fish")

        def offered(words):
            done = subprocess.run(
                ["fish", "--no-config", "-c", f"source '{script}'; complete -C "
                 f"'{Programs.countrace} {words}'"], capture_output=True,
                text=True, check=False, timeout=60,
                env={**os.environ, "HOME": os.getcwd()})
            self.assertEqual("", done.stderr)
            return [line.split("\t")[0] for line in done.stdout.splitlines()]
        self.assertEqual(sorted(VERBS), sorted(offered("")))
        self.assertEqual(["triggers"], offered("help record t"))
        self.assertEqual(sorted(
            option for option in options_of("record") if option.startswith("--")),
            sorted(offered("record --")))


if __name__ == "__main__":
    main()
