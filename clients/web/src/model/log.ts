// The output of a pod as it comes over the wire: lines out of pieces of text, and how far it has been read. Pure.
export interface Line {
  pod: string;
  text: string;
  /** When it was printed, as its member says; "" if it does not know. */
  at: string;
}

/** A line that is longer than so many characters is cut, since a program may never end one. */
export const longestLine = 65_536;

// What the daemon puts before a line (timestamps=true).
const stamp = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) /;
// What a terminal obeys instead of showing it: colours and titles first, since they begin with a control character.
const control = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** The text as a terminal would leave it: of what overwrites itself, as progress bars do, the last state. */
export function plainText(text: string): string {
  const ended = text.replace(/\r+$/, "");
  return ended.slice(ended.lastIndexOf("\r") + 1).replace(control, "");
}

/** Cuts the text of one pod into lines; `take` gets each of them as soon as it is whole. */
export class LineReader {
  private rest = "";

  constructor(
    private readonly pod: string,
    private readonly take: (line: Line) => void,
  ) {}

  text(text: string): void {
    const parts = (this.rest + text).split("\n");
    this.rest = parts.pop() ?? "";
    for (const part of parts) this.push(part);
    if (this.rest.length > longestLine) this.end();
  }

  /** Nothing more comes: what has no end of line yet is a line too. */
  end(): void {
    if (this.rest !== "") this.push(this.rest);
    this.rest = "";
  }

  private push(text: string): void {
    const at = stamp.exec(text)?.[1] ?? "";
    this.take({ pod: this.pod, text: plainText(at === "" ? text : text.slice(at.length + 1)), at });
  }
}

/** How far a log with times has been read: the daemon's Muster-Log-Offset, and the bytes that came behind it. */
export class LogPlace {
  private offset = "";
  private skipped = 0;

  /** Takes "OFFSET" or "OFFSET.SKIPPED" of an answer; what is neither changes nothing. */
  begins(header: string | null): void {
    const found = /^(\d+)(?:\.(\d+))?$/.exec(header ?? "");
    if (!found) return;
    this.offset = found[1]!;
    this.skipped = Number(found[2] ?? 0);
  }

  came(bytes: number): void {
    this.skipped += bytes;
  }

  /** Where the next answer is to begin; "" while no answer has said where it began. */
  text(): string {
    return this.offset === "" ? "" : `${this.offset}.${this.skipped}`;
  }
}

/** Lines of several pods in the order in which they were printed; one without a time stays behind the one before it. */
export function inOrder(logs: ReadonlyArray<readonly Line[]>): Line[] {
  if (logs.length === 1) return [...logs[0]!];
  const timed = logs.flatMap((lines) => {
    let last = 0;
    return lines.map((line) => ({ line, ms: (last = (line.at && Date.parse(line.at)) || last) }));
  });
  return timed.sort((a, b) => a.ms - b.ms).map((one) => one.line);
}

/** `lines` with those that came later: what comes late from one pod is put between the lines of the others. */
export function merged(lines: readonly Line[], came: readonly Line[]): Line[] {
  const first = came.map((one) => one.at).filter((at) => at !== "").reduce((least, at) => (least === "" || at < least ? at : least), "");
  let from = lines.length;
  while (first !== "" && from > 0 && lines[from - 1]!.at > first) --from;
  const byPod = new Map<string, Line[]>();
  for (const one of [...lines.slice(from), ...came]) {
    const ofPod = byPod.get(one.pod);
    if (ofPod) ofPod.push(one);
    else byPod.set(one.pod, [one]);
  }
  return [...lines.slice(0, from), ...inOrder([...byPod.values()])];
}
