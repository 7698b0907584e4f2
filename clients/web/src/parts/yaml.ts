// A JSON value as YAML, for people to read, and the lines in which two texts differ.

const plain = /^[A-Za-z_/][\w./-]*$/;
const words = /^(true|false|null|yes|no|on|off|y|n|~)$/i;

function scalar(value: unknown): string {
  if (typeof value === "string") return plain.test(value) && !words.test(value) ? value : JSON.stringify(value);
  return JSON.stringify(value) ?? "null";
}

function lines(value: unknown, indent: string): string[] {
  if (Array.isArray(value)) {
    if (value.length === 0) return [`${indent}[]`];
    return value.flatMap((one) => {
      const inner = lines(one, `${indent}  `);
      return [`${indent}- ${inner[0]!.slice(indent.length + 2)}`, ...inner.slice(1)];
    });
  }
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value);
    if (entries.length === 0) return [`${indent}{}`];
    return entries.flatMap(([key, one]) => {
      const name = `${indent}${scalar(key)}:`;
      if (typeof one === "string" && one.includes("\n") && !/[^\n\t\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd]/.test(one) && !/^\s/.test(one)) {
        const text = one.endsWith("\n") ? one.slice(0, -1) : one;
        return [`${name} |${one.endsWith("\n") ? "" : "-"}`, ...text.split("\n").map((line) => (line === "" ? "" : `${indent}  ${line}`))];
      }
      const empty = one !== null && typeof one === "object" && Object.keys(one).length === 0;
      if (one === null || typeof one !== "object" || empty) return [`${name} ${empty ? (Array.isArray(one) ? "[]" : "{}") : scalar(one)}`];
      return [name, ...lines(one, Array.isArray(one) ? indent : `${indent}  `)];
    });
  }
  return [indent + scalar(value)];
}

// The same with the keys of every object in order, so that two values can be compared by line.
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, one]) => [key, sorted(one)]));
}

export const toYaml = (value: unknown): string => lines(value, "").join("\n");

export interface DiffLine {
  sign: " " | "+" | "-";
  text: string;
}

/** The lines of both texts: those of the first alone "-", those of the second alone "+". */
export function diffLines(before: string, after: string): DiffLine[] {
  const a = before.split("\n");
  const b = after.split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) ++start;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) ++end;
  const x = a.slice(start, a.length - end);
  const y = b.slice(start, b.length - end);
  const same = (text: string): DiffLine => ({ sign: " ", text });
  const head = a.slice(0, start).map(same);
  const tail = end === 0 ? [] : a.slice(-end).map(same);
  // Beyond this many cells the parts between are shown as a whole.
  if (x.length * y.length > 4_000_000) {
    return [...head, ...x.map((text): DiffLine => ({ sign: "-", text })), ...y.map((text): DiffLine => ({ sign: "+", text })), ...tail];
  }
  // longest[i][j]: of what is common from x[i] and y[j] on.
  const width = y.length + 1;
  const longest = new Uint32Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; --i) {
    for (let j = y.length - 1; j >= 0; --j) {
      longest[i * width + j] =
        x[i] === y[j] ? longest[(i + 1) * width + j + 1]! + 1 : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const middle: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) {
      middle.push(same(x[i]!));
      ++i;
      ++j;
    } else if (j >= y.length || (i < x.length && longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!)) {
      middle.push({ sign: "-", text: x[i++]! });
    } else {
      middle.push({ sign: "+", text: y[j++]! });
    }
  }
  return [...head, ...middle, ...tail];
}
