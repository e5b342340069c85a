// Runs ruff (as WebAssembly: npm has it, Debian does not) over the repository's
// Python files, with the rules below. Exit: 0 no finding, 1 findings.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import * as ruff from "@astral-sh/ruff-wasm-nodejs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

const settings = {
  "line-length": 100,
  "target-version": "py39",
  lint: {
    select: [
      "E4", // imports in their place
      "E7", // statements: bare except, == None, names like l
      "E9", // what does not parse
      "E501", // lines of more than 100 columns
      "F", // pyflakes: unused, undefined, redefined
      "W", // blanks at the end of a line, bad escapes
      "B", // bugbear: likely mistakes
      "PLE", // pylint's errors
      "RET505", // else after return
      "SIM1", // ifs and loops that say too much
      "UP0", // old spellings
    ],
    ignore: [
      "B028", // a warning's stack level
      "E731", // a lambda with a name
      "B905", // zip without strict: Python 3.9 has none
      "SIM102", // nested ifs may each have their own comment
      "SIM105", // try, except, pass is plain
      "SIM108", // a ternary is not always plainer
      "SIM117", // nested with: Python 3.9 has no parentheses there
    ],
  },
};

const workspace = new ruff.Workspace(settings, ruff.PositionEncoding.Utf16);
const names = execFileSync("git", ["ls-files", "-z", "--", "*.py"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\0")
  .filter((name) => name !== "");
let findings = 0;
for (const name of names) {
  for (const found of workspace.check(readFileSync(join(root, name), "utf8"))) {
    const at = found.start_location;
    console.log(
      `${name}:${at.row}:${at.column}: ${found.code ?? "syntax"} ${found.message}`,
    );
    findings += 1;
  }
}
console.log(`ruff: ${names.length} files, ${findings} findings`);
process.exit(findings === 0 && names.length > 0 ? 0 : 1);
