"""The page of benchmarks: one section for each part of run_bench.py, each with
its date, machine and command; and the rows of it that README shows."""
import pathlib
import re

README = pathlib.Path(__file__).resolve().parents[2] / 'README.md'
HEAD = """# Benchmarks

What recording and reading cost, beside a peer in the same run. `tests/bench/run_bench.py BUILD --write docs/benchmarks.md`
writes this page, and the six rows in [README](../README.md#what-it-costs): do not edit it. Advice on what to switch on is in
[costs.md](costs.md).

A figure is the median of its runs; `decode` and `full rmap` are CPU time, the best of eleven readings from the page cache.
Machines are noisy and virtual ones differ by the minute, so trust the ratio to the figure beside it, not a figure alone.
An empty goal means that the row is there to compare.
"""  # noqa: E501
SECTION = re.compile(r'<!-- part: (\w+) -->\n.*?<!-- end -->\n', re.DOTALL)
FIGURES = re.compile(r'(?<=<!-- figures: docs/benchmarks.md -->\n)'
                     r'(?:\|.*\n)+')


def table(rows):
    """Rows of text cells, the first of them the header, as Markdown."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [rows[0], tuple('-' * width for width in widths), *rows[1:]]
    return ''.join('| ' + ' | '.join(cell.ljust(width) for cell, width
                                     in zip(line, widths)) + ' |\n'
                   for line in lines)


def rows_of(text):
    """Cells of all table rows in `text` but headers and rulers."""
    lines = [[cell.strip() for cell in line.strip().split('|')[1:-1]]
             for line in text.splitlines() if line.startswith('|')]
    return [cells for cells in lines
            if cells[0] != 'what' and not cells[0].startswith('-')]


def readme_rows(readme, page):
    """README's table with the figures that the page has: what | ours | peer: its
    figure. A row that the page lacks is an error."""
    figures = {(cells[0], cells[2]): cells for cells in rows_of(page)}
    rows = [('what', 'countrace', 'beside it')]
    for what, _, beside in rows_of(FIGURES.search(readme)[0]):
        peer = beside.rsplit(': ', 1)[0]
        cells = figures[what, peer]
        rows.append((what, cells[1], f'{peer}: {cells[3]}'))
    return table(rows)


def write(page, titles, part, command, where, rows):
    """Replaces the section `part` in the file `page`, and README's rows."""
    old = page.read_text() if page.exists() else ''
    sections = {match[1]: match[0] for match in SECTION.finditer(old)}
    sections[part] = (f'<!-- part: {part} -->\n## {titles[part]}\n\n{where}\n\n'
                      f'    {command}\n\n{table(rows)}<!-- end -->\n')
    text = HEAD + ''.join('\n' + sections[name] for name in titles
                          if name in sections)
    page.write_text(text)
    readme = README.read_text()
    try:
        new = FIGURES.sub(lambda _: readme_rows(readme, text), readme)
    except KeyError as missing:
        print(f'README stays: the page has no row {missing}')
        return
    README.write_text(new)
