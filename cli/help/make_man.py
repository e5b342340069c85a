#!/usr/bin/env python3
"""Writes the manual pages from the help texts.

Usage: make_man.py OUT_FOLDER VERSION DATE VERB...

  overview.txt -> countrace.1      VERB.txt -> countrace-VERB.1
  trace.txt    -> countrace-trace.5

A block is what blank lines end, except below a heading like `options:`, where
indented blocks follow each other. Unindented blocks are filled; indented ones
keep their lines.
"""

import pathlib
import re
import sys

from embed_help import expanded

HEADING = re.compile(r"(usage|options|verbs|examples|exit status):(.*)")
OPTION = re.compile(r"(?:  -\w, |      )--")
TOPIC = re.compile(r"topic ([\w-]+): (.*)")
DESCRIPTION_COLUMN = 26
COLUMNS = 76


def roff(text):
    """A line of plain text for roff; `code` becomes bold."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return literal(re.sub(r"`([^`]+)`", r"\\fB\1\\fP", text))


def literal(line):
    """Protects a roff control character at the beginning of a line."""
    return "\\&" + line if line.startswith((".", "'")) else line


def filled(lines):
    """A paragraph; `code` may continue on the next line."""
    out = [""]
    for word in roff(" ".join(line.strip() for line in lines)).split(" "):
        if out[-1] and len(out[-1]) + 1 + len(word) > COLUMNS:
            out.append("")
        out[-1] += (" " if out[-1] else "") + word
    return [literal(line) for line in out]


def kept(lines):
    """Lines that stay unfilled, indented."""
    indent = min(len(line) - len(line.lstrip()) for line in lines if line)
    return [".PP", ".RS 4", ".nf",
            *[roff(line[indent:]) for line in lines], ".fi", ".RE"]


def option_list(lines):
    """`  -o, --output DIR   the trace` as tagged paragraphs."""
    options = []
    for line in lines:
        if OPTION.match(line):
            spelling, _, description = line.strip().partition("  ")
            options.append((spelling, [description] if description else []))
        else:
            options[-1][1].append(line[DESCRIPTION_COLUMN:])
    out = []
    for spelling, description in options:
        out += [".TP", "\\fB" + roff(spelling) + "\\fP", *filled(description)]
    return out


def blocks(lines):
    """(heading or None, lines) of each block."""
    found = []
    for line in lines:
        heading = HEADING.match(line)
        below_heading = bool(found) and found[-1][0] is not None
        if heading:
            rest = heading[2].strip()
            found.append((heading[1], [rest] if rest else []))
        elif not line:
            # Indented blocks may follow below the same heading.
            if below_heading and found[-1][0] == "examples":
                found[-1][1].append("")
            else:
                found.append((None, []))
        else:
            found[-1][1].append(line)
    for _, block in found:
        while block and not block[-1]:
            block.pop()
    return [(heading, block) for heading, block in found if block]


class Page:
    """The sections of one manual page, in the usual order of manuals."""

    ORDER = ["SYNOPSIS", "DESCRIPTION", "VERBS", "OPTIONS", "TOPICS",
             "EXIT STATUS", "EXAMPLES"]

    def __init__(self, lines):
        self.sections = {name: [] for name in self.ORDER}
        texts = [(None, [])]
        for line in lines:
            topic = TOPIC.match(line)
            if topic:
                texts.append((f"{topic[1]}: {topic[2]}", []))
            else:
                texts[-1][1].append(line)
        self.add_main(texts[0][1])
        for title, text in texts[1:]:
            self.add_topic(title, text)

    def add_main(self, lines):
        section = {"usage": "SYNOPSIS", "options": "OPTIONS", "verbs": "VERBS",
                   "examples": "EXAMPLES", "exit status": "EXIT STATUS"}
        for heading, block in blocks(["", *lines]):
            self.add(section.get(heading, "DESCRIPTION"), heading, block)

    def add_topic(self, title, lines):
        self.sections["TOPICS"] += [".SS " + roff(title)]
        for heading, block in blocks(["", *lines]):
            self.add("TOPICS", heading, block)

    def add(self, section, heading, block):
        if heading == "options":
            lines = option_list(block)
        elif heading == "usage":
            lines = [".nf", *[roff(line.strip()) for line in block], ".fi"]
        elif heading in ("verbs", "examples") or block[0].startswith(" "):
            lines = kept(block)
        else:
            if heading == "exit status" and section == "TOPICS":
                block = ["Exit status:", *block]
            lines = [".PP", *filled(block)]
        out = self.sections[section]
        # A section's heading begins a paragraph anyway.
        if not (out and not out[-1].startswith(".SS")) and lines[0] == ".PP":
            lines = lines[1:]
        out += lines

    def text(self, name, header, summary, see_also):
        out = [header, ".SH NAME", f"{roff(name)} \\- {roff(summary)}"]
        for title in self.ORDER:
            if self.sections[title]:
                out += [".SH " + title, *self.sections[title]]
        out += [".SH SEE ALSO"]
        references = [each for each in see_also if each[0] != name]
        for number, (page, section) in enumerate(references):
            comma = " ," if number + 1 < len(references) else ""
            out.append(f".BR {roff(page)} ({section}){comma}")
        return "\n".join(out) + "\n"


def main():
    folder, version, date = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    verbs = sys.argv[4:]
    folder.mkdir(parents=True, exist_ok=True)
    pages = [("countrace", "overview", 1)]
    pages += [(f"countrace-{verb}", verb, 1) for verb in verbs]
    pages += [("countrace-trace", "trace", 5)]
    for name, source, section in pages:
        summary, *lines = expanded(source)
        header = (f'.TH {roff(name.upper())} {section} "{date}" '
                  f'"countrace {version}" "countrace manual"')
        if section == 1 and name == "countrace":
            see_also = [(page, number) for page, _, number in pages]
        else:
            see_also = [("countrace", 1), ("countrace-trace", 5)]
        text = Page(lines).text(name, header, summary, see_also)
        (folder / f"{name}.{section}").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
