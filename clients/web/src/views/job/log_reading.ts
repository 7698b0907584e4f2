// Reading the logs of pods. A followed log that breaks is read on behind what has come of it, at whichever
// daemon answers then, so that no line is lost and none comes twice.
import { effect } from "@preact/signals";
import { ask, call, Refusal, sentence, token } from "../../api/client";
import { liveState } from "../../live/feed";
import { LineReader, LogPlace, type Line } from "../../model/log";

export interface LogName {
  job: string;
  pod: string;
  /** "": the first one. */
  container: string;
  /** Of its end so many lines; 0: all of it. */
  tail: number;
}

const retryMs = [500, 1_000, 2_000, 5_000, 10_000];

async function readBody(body: ReadableStream<Uint8Array>, take: (bytes: Uint8Array) => void): Promise<void> {
  const reader = body.getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    take(value);
  }
}

const queryOf = (log: LogName, place: string) => ({
  pod: log.pod,
  timestamps: true,
  ...(log.container === "" ? {} : { container: log.container }),
  ...(place !== "" ? { offset: place } : log.tail > 0 ? { tail: log.tail } : {}),
});

/** Reads what there is of a log. */
export async function readLog(log: LogName, take: (line: Line) => void, stop: AbortSignal): Promise<void> {
  const lines = new LineReader(log.pod, take);
  const decoder = new TextDecoder();
  const answer = await ask("jobLogs", { id: log.job }, queryOf(log, ""), { signal: stop });
  if (answer.body) await readBody(answer.body, (bytes) => lines.text(decoder.decode(bytes, { stream: true })));
  lines.end();
}

// Calls `act` when there is another token, or when the feed is there again after a silence: then the
// connection of the log may be a dead one too. Returns what ends that.
function whenToReopen(act: () => void): () => void {
  const before = token.peek();
  let silent = false;
  return effect(() => {
    if (token.value !== before) act();
    if (liveState.value === "stale") silent = true;
    else if (liveState.value === "live" && silent) act();
  });
}

const sleep = (ms: number, stop: AbortSignal) =>
  new Promise<void>((done) => {
    const timer = setTimeout(done, ms);
    stop.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });

// Resolves with another token than now, or at the end.
const anotherToken = (stop: AbortSignal) =>
  new Promise<void>((done) => {
    const before = token.peek();
    const end = effect(() => void (token.value !== before && done()));
    stop.addEventListener("abort", () => (end(), done()), { once: true });
  });

// Whether a pod may print more. A daemon that is stopped in good order ends its logs as if they had ended.
async function mayPrint(log: LogName, stop: AbortSignal): Promise<boolean> {
  const { items } = (await call("jobPods", { id: log.job }, {}, { signal: stop })) as { items: Array<{ name: string; endTime: string | null }> };
  return items.some((one) => one.name === log.pod && one.endTime === null);
}

const brokeOff = "The output broke off. It goes on where it was as soon as the daemon answers.";

export interface LogFollower {
  take: (line: Line) => void;
  /** Told why the log is not read now, and "" once it is. */
  trouble: (text: string) => void;
  /** Whether the job runs, as far as the page knows. */
  runs: () => boolean;
  /** There is another token after one that was refused: all is to be read anew. */
  anew: () => void;
}

/** Follows a log until it ends or `stop` is aborted. */
export async function followLog(log: LogName, { take, trouble, runs, anew }: LogFollower, stop: AbortSignal): Promise<void> {
  const lines = new LineReader(log.pod, take);
  const decoder = new TextDecoder();
  const place = new LogPlace();
  for (let attempt = 0; !stop.aborted; ) {
    const once = new AbortController();
    const end = () => once.abort();
    stop.addEventListener("abort", end, { once: true });
    const unwatch = whenToReopen(end);
    try {
      const answer = await ask("jobLogs", { id: log.job }, { ...queryOf(log, place.text()), follow: true }, { signal: once.signal });
      place.begins(answer.headers.get("Muster-Log-Offset"));
      trouble("");
      const come = (bytes: Uint8Array) => {
        attempt = 0;
        place.came(bytes.length);
        lines.text(decoder.decode(bytes, { stream: true }));
      };
      if (answer.body) await readBody(answer.body, come);
      if (!runs() || !(await mayPrint(log, once.signal))) {
        lines.end();
        return;
      }
    } catch (wrong) {
      if (stop.aborted) return;
      // Ended by this page itself: it is opened again at once.
      if (once.signal.aborted) continue;
      const status = wrong instanceof Refusal ? wrong.status : 0;
      trouble(status === 0 || status === 503 ? brokeOff : sentence(wrong));
      if (status === 403 || (status >= 400 && status < 500 && status !== 401 && status !== 429 && !runs())) return;
      if (status === 401) {
        await anotherToken(stop);
        if (!stop.aborted) anew();
        return;
      }
    } finally {
      unwatch();
      stop.removeEventListener("abort", end);
    }
    await sleep(retryMs[Math.min(attempt++, retryMs.length - 1)]!, stop);
  }
}

/** Runs `work` on all items, so many at once. */
export async function each<T>(items: readonly T[], most: number, work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: Math.min(most, items.length) }, async () => {
      while (next < items.length) await work(items[next++]!);
    }),
  );
}
