#!/usr/bin/env python3
"""The site of the documents: every page has its title, and every link leads
somewhere.

usage: site_test.py SOURCE
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

SOURCE = pathlib.Path(sys.argv[1]).resolve()


class Site(unittest.TestCase):
    def test_links_lead_somewhere(self):
        if shutil.which('mkdocs') is None:
            self.skipTest('SKIPPED: mkdocs is not installed')
        with tempfile.TemporaryDirectory(prefix='countrace-site-') as name:
            made = subprocess.run([SOURCE / 'scripts/site', '--output', name],
                                  capture_output=True, text=True, timeout=100, check=False)
            self.assertEqual(0, made.returncode, made.stderr)
            pages = [page for page in pathlib.Path(name).rglob('*.html')
                     if page.name != '404.html']
            names = {str(page.relative_to(name)) for page in pages}
            written = subprocess.run(['git', 'ls-files', 'docs/*.md'], cwd=SOURCE, text=True,
                                     capture_output=True, check=True).stdout.split()
            self.assertLess(20, len(written))
            for page in written:
                self.assertIn(page.replace('README.md', 'index.md')[:-2] + 'html', names)
            for page in pages:
                text = page.read_text()
                self.assertRegex(text, '<h1')
                for link in re.findall(r'(?:href|src)="([^"#?]+)', text):
                    if re.match(r'[a-z]+:|//', link):
                        continue
                    target = os.path.normpath(page.parent / urllib.parse.unquote(link))
                    self.assertTrue(os.path.exists(target), f'{page}: {link}')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
