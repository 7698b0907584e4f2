// Runs the tests of test/*.test.ts: esbuild turns them into scripts, node --test runs them.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = mkdtempSync(join(tmpdir(), "muster-web-"));
try {
  const entryPoints = readdirSync(root + "test").filter((name) => name.endsWith(".test.ts")).map((name) => `test/${name}`);
  await build({ absWorkingDir: root, entryPoints, outdir: out, bundle: true, platform: "node", format: "esm", outExtension: { ".js": ".mjs" }, logLevel: "warning" });
  const ran = spawnSync(process.execPath, ["--test", ...readdirSync(out).map((name) => join(out, name))], { stdio: "inherit" });
  process.exitCode = ran.status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
