// The output of all pods of a job, or of one: followed, searched by regular expression, from the
// start or from its end, with the time at which each line was printed, and to download.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ask, call, sentence } from "../../api/client";
import { paused } from "../../live/feed";
import { Check, Choice } from "../../parts/form";
import { Empty, Failure } from "../../parts/states";
import { timeText, utc } from "../../parts/time";

export interface Pod {
  name: string;
  podSet: string;
  index: number;
  phase: string;
  node: string;
  message: string;
  exitCode: number | null;
  exitSignal: number;
  startTime: string | null;
  endTime: string | null;
  containers?: string[];
}

interface Line {
  pod: string;
  text: string;
  /** When it was printed, as its member says; "" if it does not know. */
  at: string;
}

// Browsers open six connections to a server. More pods than these are read again and again.
const streamsAtOnce = 3;
const againMs = 3_000;
const readAtOnce = 3;
const tailLines = 1_000;
/** Lines that are kept; older ones leave first. */
const keptLines = 50_000;
/** Lines that are in the document at once. */
const shownLines = 2_000;

// What the daemon puts before a line (timestamps=true).
const stamp = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) /;
const control = /[\u0000-\u0008\u000b-\u001f\u007f]|\u001b\[[0-9;?]*[A-Za-z]/g;

async function readAll(body: ReadableStream<Uint8Array>, take: (text: string) => void): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    take(value);
  }
}

function expression(text: string): RegExp | null | undefined {
  if (text === "") return undefined;
  try {
    return new RegExp(text, "i");
  } catch {
    return null;
  }
}

function Marked(props: { text: string; find: RegExp | undefined }) {
  const hit = props.find?.exec(props.text);
  if (!hit || hit[0] === "") return <>{props.text}</>;
  return (
    <>
      {props.text.slice(0, hit.index)}
      <mark>{hit[0]}</mark>
      {props.text.slice(hit.index + hit[0].length)}
    </>
  );
}

// Lines of several pods in the order in which they were printed; one without a time stays behind the one before it.
function inOrder(logs: ReadonlyArray<readonly Line[]>): Line[] {
  if (logs.length === 1) return [...logs[0]!];
  const timed = logs.flatMap((lines) => {
    let last = 0;
    return lines.map((line) => ({ line, ms: (last = (line.at && Date.parse(line.at)) || last) }));
  });
  return timed.sort((a, b) => a.ms - b.ms).map((one) => one.line);
}

// Runs `work` on all items, so many at once.
async function each<T>(items: readonly T[], most: number, work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: Math.min(most, items.length) }, async () => {
      while (next < items.length) await work(items[next++]!);
    }),
  );
}

export function Logs(props: { id: string; pods: readonly Pod[]; running: boolean }) {
  const pod = useSignal("");
  const container = useSignal("");
  const follow = useSignal(props.running);
  const whole = useSignal(false);
  const stamps = useSignal(false);
  const wrap = useSignal(true);
  const find = useSignal("");
  const onlyHits = useSignal(true);
  const lines = useSignal<readonly Line[]>([]);
  const error = useSignal("");
  const box = useRef<HTMLDivElement>(null);

  const names = props.pods.map((one) => one.name);
  const wanted = pod.value === "" ? names : names.filter((one) => one === pod.value);
  const containers = props.pods.find((one) => one.name === (pod.value || names[0]))?.containers ?? [];

  useEffect(() => {
    const stop = new AbortController();
    lines.value = [];
    error.value = "";
    let timer = 0;
    // Pieces of text to lines; `take` gets them as they come.
    const splitter = (name: string, take: (line: Line) => void) => {
      let rest = "";
      const push = (text: string) => {
        const at = stamp.exec(text)?.[1] ?? "";
        take({ pod: name, text: text.slice(at === "" ? 0 : at.length + 1).replace(control, ""), at });
      };
      return {
        text: (text: string) => {
          const parts = (rest + text).split("\n");
          rest = parts.pop() ?? "";
          parts.forEach(push);
        },
        end: () => rest !== "" && push(rest),
      };
    };
    const read = async (name: string, stay: boolean, take: (line: Line) => void) => {
      const into = splitter(name, take);
      try {
        const answer = await ask(
          "jobLogs",
          { id: props.id },
          { pod: name, timestamps: true, ...(container.value ? { container: container.value } : {}), ...(stay ? { follow: true } : {}), ...(whole.value ? {} : { tail: tailLines }) },
          { signal: stop.signal },
        );
        if (answer.body) await readAll(answer.body, into.text);
      } catch (wrong) {
        if (!stop.signal.aborted) error.value = sentence(wrong);
      }
      into.end();
    };
    const show = (all: Line[]) => {
      if (!stop.signal.aborted) lines.value = all.length > keptLines ? all.slice(-keptLines) : all;
    };
    let waiting: Line[] = [];
    const add = (line: Line) => {
      waiting.push(line);
      if (timer !== 0) return;
      timer = window.setTimeout(() => {
        timer = 0;
        // What comes late from one pod is put between the lines of the others.
        const first = waiting.map((one) => one.at).filter((at) => at !== "").reduce((least, at) => (least === "" || at < least ? at : least), "");
        let from = lines.value.length;
        while (first !== "" && from > 0 && lines.value[from - 1]!.at > first) --from;
        const came = new Map<string, Line[]>();
        for (const one of [...lines.value.slice(from), ...waiting]) {
          const ofPod = came.get(one.pod);
          if (ofPod) ofPod.push(one);
          else came.set(one.pod, [one]);
        }
        show([...lines.value.slice(0, from), ...inOrder([...came.values()])]);
        waiting = [];
      }, 100);
    };
    const stay = follow.value && wanted.length <= streamsAtOnce;
    let again = 0;
    const round = async () => {
      const found = new Map<string, Line[]>(wanted.map((name) => [name, []]));
      await each(wanted, readAtOnce, (name) => read(name, false, (line) => found.get(name)!.push(line)));
      if (!paused.peek() || lines.value.length === 0) show(inOrder([...found.values()]));
      if (follow.value && !stop.signal.aborted) again = window.setTimeout(() => void round(), againMs);
    };
    if (stay) void Promise.all(wanted.map((name) => read(name, true, add)));
    else void round();
    return () => {
      stop.abort();
      clearTimeout(timer);
      clearTimeout(again);
    };
  }, [props.id, wanted.join(" "), container.value, follow.value, whole.value]);

  const pattern = expression(find.value);
  const hits = pattern ? lines.value.filter((one) => pattern.test(one.text)) : lines.value;
  const matched = pattern && onlyHits.value ? hits : lines.value;
  const shown = matched.slice(-shownLines);
  useEffect(() => {
    if (follow.value && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines.value]);

  const download = async () => {
    error.value = "";
    try {
      const parts: string[] = [];
      for (const name of wanted) {
        const text = await call("jobLogs", { id: props.id }, { pod: name, ...(stamps.value ? { timestamps: true } : {}), ...(container.value ? { container: container.value } : {}) });
        parts.push(wanted.length > 1 ? `==> ${name} <==\n${text}` : text);
      }
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([parts.join("\n")], { type: "text/plain" }));
      link.download = `job-${props.id.replace(/[^\w.-]/g, "_")}${pod.value ? `-${pod.value}` : ""}.log`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    } catch (wrong) {
      error.value = sentence(wrong);
    }
  };

  if (names.length === 0) return <Empty>There is no output yet: the job has no pods on its member.</Empty>;
  return (
    <>
      <div class="row">
        <Choice label="Pod" value={pod.value} set={(value) => (pod.value = value)} options={[["", `all ${names.length}`], ...names.map((one) => [one, one] as const)]} />
        {containers.length > 1 && (
          <Choice label="Container" value={container.value} set={(value) => (container.value = value)} options={[["", "the first"], ...containers.map((one) => [one, one] as const)]} />
        )}
        <div class="field grow">
          <label for="log-search">Search (regular expression)</label>
          <input
            id="log-search"
            type="search"
            value={find.value}
            aria-invalid={pattern === null}
            spellcheck={false}
            onInput={(event) => (find.value = event.currentTarget.value)}
          />
          {pattern === null && <small class="wrong">is no regular expression</small>}
        </div>
        <Check label="Matches only" on={onlyHits.value} set={(on) => (onlyHits.value = on)} />
        <Check label="Follow" on={follow.value} set={(on) => (follow.value = on)} />
        <Check label="From the start" on={whole.value} set={(on) => (whole.value = on)} />
        <Check label="Times" on={stamps.value} set={(on) => (stamps.value = on)} />
        <Check label="Wrap" on={wrap.value} set={(on) => (wrap.value = on)} />
        <button type="button" onClick={download}>
          Download
        </button>
      </div>
      {error.value !== "" && <Failure text={error.value} />}
      <p class="faint" role="status">
        {pattern ? `${hits.length} of ${lines.value.length} lines match. ` : `${lines.value.length} lines. `}
        {!whole.value && `The last ${tailLines} of each pod. `}
        {matched.length > shown.length && `The last ${shownLines} are shown. `}
        {follow.value && wanted.length > streamsAtOnce && `More than ${streamsAtOnce} pods are read again every ${againMs / 1_000} s.`}
      </p>
      <div ref={box} class={`log ${wrap.value ? "wrap" : ""}`} tabIndex={0} role="log" aria-label="Output" aria-live="off">
        {shown.map((line, index) => (
          <div key={index}>
            {stamps.value && (
              <time class="faint num" {...(line.at ? { dateTime: line.at, title: line.at } : {})}>
                {line.at ? timeText(new Date(line.at), utc.value) : "no time"}{" "}
              </time>
            )}
            {wanted.length > 1 && <span class="log-pod">{line.pod} </span>}
            <Marked text={line.text} find={pattern ?? undefined} />
          </div>
        ))}
        {shown.length === 0 && <span class="faint">{pattern && lines.value.length > 0 ? "No line matches." : "Nothing was printed yet."}</span>}
      </div>
    </>
  );
}
