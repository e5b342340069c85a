#!/usr/bin/env python3
"""What dpkg-shlibdeps needs to know about libraries of another machine: writes a folder as
/var/lib/dpkg is, for the packages that tests/emulated/foreign_packages.py unpacked.

usage: foreign_libraries.py FOREIGN FOLDER. FOREIGN has archives/ and sysroot/.
"""

import pathlib
import subprocess
import sys
import tempfile


def output_of(*command):
    return subprocess.run(list(map(str, command)), check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def main():
    foreign, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    info = folder / "info"
    info.mkdir(parents=True)
    (info / "format").write_text("1\n")
    (folder / "updates").mkdir()
    status = []
    for deb in sorted((foreign / "archives").glob("*.deb")):
        fields = output_of("dpkg-deb", "-f", deb)
        values = dict(line.split(": ", 1) for line in fields.splitlines()
                      if ": " in line and line[0] != " ")
        status.append(f"Status: install ok installed\n{fields}")
        name = values["Package"]
        if values.get("Multi-Arch") == "same":
            name += f":{values['Architecture']}"
        files = [line.split(maxsplit=5)[5].split(" -> ")[0].lstrip(".").rstrip("/")
                 for line in output_of("dpkg-deb", "-c", deb).splitlines()]
        (info / f"{name}.list").write_text("".join(
            f"{foreign}/sysroot{file}\n" for file in files))
        with tempfile.TemporaryDirectory() as control:
            output_of("dpkg-deb", "-e", deb, control)
            for kind in ("shlibs", "symbols"):
                file = pathlib.Path(control, kind)
                if file.exists():
                    (info / f"{name}.{kind}").write_bytes(file.read_bytes())
    (folder / "status").write_text("\n".join(status))


if __name__ == "__main__":
    main()
