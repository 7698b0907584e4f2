// The output of all pods of a job, or of one: followed, searched by regular expression, from the
// start or from its end, with the time at which each line was printed, and to download.
import { effect, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { call, sentence } from "../../api/client";
import { paused } from "../../live/feed";
import { inOrder, merged, type Line } from "../../model/log";
import { countText } from "../../model/words";
import { Check, Choice } from "../../parts/form";
import { Empty, Failure } from "../../parts/states";
import { timeText, utc } from "../../parts/time";
import { each, followLog, readLog, type LogName } from "./log_reading";

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

// Browsers open six connections to a server. More pods than these are read again and again.
const streamsAtOnce = 3;
const againMs = 3_000;
const readAtOnce = 3;
const tailLines = 1_000;
/** Lines that are kept; older ones leave first. */
const keptLines = 50_000;
/** Lines that are in the document at once. */
const shownLines = 2_000;

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

/** A line with a number of its own, so that the document keeps what stays. */
interface Numbered extends Line {
  n: number;
}
let numbers = 0;
const numbered = (line: Line): Numbered => ({ ...line, n: ++numbers });

export function Logs(props: { id: string; pods: readonly Pod[]; running: boolean }) {
  const pod = useSignal("");
  const container = useSignal("");
  const follow = useSignal(props.running);
  const whole = useSignal(false);
  const stamps = useSignal(false);
  const wrap = useSignal(true);
  const find = useSignal("");
  const onlyHits = useSignal(true);
  const lines = useSignal<readonly Numbered[]>([]);
  /** So many of the last lines are not shown. */
  const older = useSignal(0);
  const atEnd = useRef(true);
  /** How often the reading has begun anew. */
  const begun = useSignal(0);
  const error = useSignal("");
  const box = useRef<HTMLDivElement>(null);

  const names = props.pods.map((one) => one.name);
  const wanted = pod.value === "" ? names : names.filter((one) => one === pod.value);
  const containers = props.pods.find((one) => one.name === (pod.value || names[0]))?.containers ?? [];

  // Read by what outlives a drawing.
  const running = useRef(props.running);
  running.current = props.running;

  useEffect(() => {
    const stop = new AbortController();
    lines.value = [];
    error.value = "";
    older.value = 0;
    atEnd.current = true;
    const named = (name: string): LogName => ({ job: props.id, pod: name, container: container.value, tail: whole.value ? 0 : tailLines });
    const show = (all: readonly Numbered[]) => {
      if (!stop.signal.aborted) lines.value = all.length > keptLines ? all.slice(-keptLines) : all;
    };
    // What came is shown a few times a second, and not while the page is paused.
    let waiting: Numbered[] = [];
    let timer = 0;
    const flush = () => {
      timer = 0;
      if (waiting.length === 0 || (paused.peek() && lines.value.length > 0)) return;
      show(merged(lines.value, waiting) as Numbered[]);
      waiting = [];
    };
    const add = (line: Line) => {
      waiting.push(numbered(line));
      if (waiting.length > 2 * keptLines) waiting = waiting.slice(-keptLines);
      if (timer === 0) timer = window.setTimeout(flush, 100);
    };
    const goOn = effect(() => {
      if (!paused.value) flush();
    });
    // Which pods are not read now, and why.
    const troubles = new Map<string, string>();
    const trouble = (name: string) => (text: string) => {
      if (stop.signal.aborted) return;
      if (text === "") troubles.delete(name);
      else troubles.set(name, text);
      error.value = [...new Set(troubles.values())].join(" ");
    };
    let again = 0;
    const round = async () => {
      const found = new Map<string, Numbered[]>(wanted.map((name) => [name, []]));
      await each(wanted, readAtOnce, async (name) => {
        try {
          await readLog(named(name), (line) => found.get(name)!.push(numbered(line)), stop.signal);
          trouble(name)("");
        } catch (wrong) {
          if (!stop.signal.aborted) trouble(name)(sentence(wrong));
        }
      });
      if (!paused.peek() || lines.value.length === 0) show(inOrder([...found.values()]) as Numbered[]);
      // Once the job is over, what has been read after that is all.
      const last = !running.current;
      if (follow.value && !stop.signal.aborted && !last) again = window.setTimeout(() => void round(), againMs);
    };
    if (follow.value && wanted.length <= streamsAtOnce) {
      const runs = () => running.current;
      const anew = () => void ++begun.value;
      for (const name of wanted) void followLog(named(name), { take: add, trouble: trouble(name), runs, anew }, stop.signal);
    } else {
      void round();
    }
    return () => {
      stop.abort();
      goOn();
      clearTimeout(timer);
      clearTimeout(again);
    };
  }, [props.id, wanted.join(" "), container.value, follow.value, whole.value, begun.value]);

  const pattern = expression(find.value);
  const hits = pattern ? lines.value.filter((one) => pattern.test(one.text)) : lines.value;
  const matched = pattern && onlyHits.value ? hits : lines.value;
  // Counted from the end, so that new lines do not move what is read further up.
  const until = Math.max(Math.min(matched.length, shownLines), matched.length - older.value);
  const shown = matched.slice(Math.max(0, until - shownLines), until);
  // New lines are scrolled to by those who look at the end, not by those who read further up.
  useEffect(() => {
    if (follow.value && atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines.value]);
  const scrolled = (event: { currentTarget: HTMLElement }) => {
    const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
    atEnd.current = scrollHeight - scrollTop - clientHeight < 40;
  };
  const page = (to: number) => {
    older.value = Math.max(0, Math.min(matched.length - shownLines, to));
    atEnd.current = older.value === 0;
    if (box.current) box.current.scrollTop = 0;
  };

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
        {pattern ? `${hits.length} of ${countText(lines.value.length, "line")} match` : countText(lines.value.length, "line")}
        {whole.value ? (lines.value.length >= keptLines ? `, the last ${keptLines}; Download has all of them` : "") : `, from the last ${tailLines} of each pod on`}
        {follow.value && wanted.length > streamsAtOnce && `; more than ${streamsAtOnce} pods are read again every ${againMs / 1_000} s`}.
      </p>
      {matched.length > shown.length && (
        <div class="row title" role="group" aria-label="Which lines">
          <button type="button" disabled={until <= shownLines} onClick={() => page(matched.length)}>
            First
          </button>
          <button type="button" disabled={until <= shownLines} onClick={() => page(older.value + shownLines)}>
            Earlier
          </button>
          <button type="button" disabled={older.value === 0} onClick={() => page(older.value - shownLines)}>
            Later
          </button>
          <button type="button" disabled={older.value === 0} onClick={() => page(0)}>
            Last
          </button>
          <span class="faint">
            {until - shown.length + 1} to {until} of {matched.length} are shown.
          </span>
        </div>
      )}
      <div ref={box} class={`log ${wrap.value ? "wrap" : ""}`} tabIndex={0} role="log" aria-label="Output" aria-live="off" onScroll={scrolled}>
        {shown.map((line) => (
          <div key={line.n}>
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
