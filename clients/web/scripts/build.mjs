// Makes dist/: one script, one style sheet and the page that names them, each beside its gzip and
// brotli forms, and manifest.json, which the build of the daemon reads. Names carry a hash of the
// content. With --check nothing is written: it fails if dist/ is not what the sources make.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = root + "dist/";
const check = process.argv.includes("--check");
const budget = 120 * 1024;

const result = await build({
  absWorkingDir: root,
  entryPoints: { app: "src/app/main.tsx" },
  outdir: dist,
  bundle: true,
  minify: true,
  write: false,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
});

const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");
const files = [];
const add = (name, type, bytes) => files.push({ name, type, bytes: Buffer.from(bytes), hash: digest(bytes).slice(0, 32) });
const hashed = (ending) => {
  const bytes = Buffer.from(result.outputFiles.find((one) => one.path.endsWith(ending)).contents);
  const name = `app-${digest(bytes).slice(0, 12)}${ending}`;
  add(name, ending === ".js" ? "text/javascript; charset=utf-8" : "text/css; charset=utf-8", bytes);
  return name;
};
const script = hashed(".js");
const style = hashed(".css");
const icon = readFileSync(root + "src/style/icon.svg");
const iconName = `icon-${digest(icon).slice(0, 12)}.svg`;
add(iconName, "image/svg+xml", icon);
const notices = readFileSync(root + "NOTICES.txt");
const noticesName = `notices-${digest(notices).slice(0, 12)}.txt`;
add(noticesName, "text/plain; charset=utf-8", notices);
add(
  "index.html",
  "text/html; charset=utf-8",
  readFileSync(root + "src/index.html", "utf8")
    .replace("{script}", `/ui/assets/${script}`)
    .replace("{style}", `/ui/assets/${style}`)
    .replace("{icon}", `/ui/assets/${iconName}`)
    .replace("{notices}", `/ui/assets/${noticesName}`),
);
const manifest = files.map(({ name, type, hash }) => `${name}|${type}|${hash}\n`).join("");

const gzipped = files.reduce((sum, one) => sum + gzipSync(one.bytes, { level: 9 }).length, 0);
console.log(`dist: ${files.length} files, ${gzipped} bytes gzipped of ${budget}`);
if (gzipped > budget) throw new Error("the page is larger than its budget");

if (check) {
  const wrong = [];
  const want = new Set(["manifest.txt"]);
  for (const one of files) {
    for (const ending of ["", ".gz", ".br"]) {
      const name = one.name + ending;
      want.add(name);
      if (!existsSync(dist + name)) {
        wrong.push(`${name} is missing`);
        continue;
      }
      const stored = readFileSync(dist + name);
      const plain = ending === ".gz" ? gunzipSync(stored) : ending === ".br" ? brotliDecompressSync(stored) : stored;
      if (!plain.equals(one.bytes)) wrong.push(`${name} has other content`);
    }
  }
  for (const name of readdirSync(dist)) if (!want.has(name)) wrong.push(`${name} is not made any more`);
  if (readFileSync(dist + "manifest.txt", "utf8") !== manifest) wrong.push("manifest.txt is another one");
  if (wrong.length > 0) {
    console.error(`dist is not what the sources make (npm run build):\n${wrong.join("\n")}`);
    process.exit(1);
  }
} else {
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist);
  for (const one of files) {
    writeFileSync(dist + one.name, one.bytes);
    writeFileSync(dist + one.name + ".gz", gzipSync(one.bytes, { level: 9 }));
    writeFileSync(dist + one.name + ".br", brotliCompressSync(one.bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
  }
  writeFileSync(dist + "manifest.txt", manifest);
}
