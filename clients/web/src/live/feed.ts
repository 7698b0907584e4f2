// The feed of committed events (GET /v1/events), which all views share. It is read by fetch, since
// EventSource cannot send a token. After a break it goes on after the last event that it saw, so
// nothing is missed; the daemon checks the token again with every heartbeat.
import { computed, effect, signal } from "@preact/signals";
import { ask, Refusal, sentence, token } from "../api/client";
import type { Event } from "../api/types";

export type LiveState = "live" | "connecting" | "stale" | "paused";

/** How long a silent stream counts as live; a heartbeat comes every 15 s. */
const quietMs = 40_000;
const retryMs = [500, 1_000, 2_000, 5_000, 10_000];
/** A page that nobody has looked at for so long follows nothing: most open pages are hidden ones. */
const unseenMs = 60_000;

export const paused = signal(false);
/** When something was heard last; 0 before the first time. */
export const heardAt = signal(0);
/** Why the feed is not read; "" if it is. */
export const trouble = signal("");
const connected = signal(false);
const unseen = signal(false);

export const liveState = computed<LiveState>(() => {
  if (paused.value) return "paused";
  if (connected.value) return "live";
  return heardAt.value === 0 && trouble.value === "" ? "connecting" : "stale";
});

type Listener = (events: Event[]) => void;
const listeners = new Set<Listener>();
let lastSeen = "";
// Whether events were left out, so that all views are to be read when the feed is there again.
let leftOut = false;
let attempt = 0;
let stop: AbortController | null = null;

/** Calls `listener` with each batch of events, and with an empty one after events that were left out, until the returned function is called. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// One event of the stream, or null for a comment. The first comment says after which event the
// stream begins: that is where a break before the first event goes on.
const beginning = ": following from ";
function parseBlock(block: string): Event | null {
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith(beginning)) lastSeen = line.slice(beginning.length);
    else if (line.startsWith("id: ")) lastSeen = line.slice(4);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  return data === "" ? null : (JSON.parse(data) as Event);
}

async function read(body: ReadableStream<Uint8Array>, control: AbortController): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let text = "";
  let timer = 0;
  const expect = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => control.abort(new Error(`the daemon has not been heard for ${quietMs / 1_000} s`)), quietMs);
  };
  try {
    for (;;) {
      expect();
      const { value, done } = await reader.read();
      if (done) return;
      heardAt.value = Date.now();
      connected.value = true;
      trouble.value = "";
      attempt = 0;
      text += value;
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      const events = blocks.map(parseBlock).filter((one) => one !== null);
      if (events.length > 0 || leftOut) for (const listener of listeners) listener(leftOut ? [] : events);
      leftOut = false;
    }
  } finally {
    clearTimeout(timer);
  }
}

async function follow(control: AbortController): Promise<void> {
  while (!control.signal.aborted) {
    const once = new AbortController();
    control.signal.addEventListener("abort", () => once.abort(), { once: true });
    let mayRetry = true;
    try {
      const headers: Record<string, string> = lastSeen === "" ? {} : { "Last-Event-ID": lastSeen };
      const answer = await ask("followEvents", {}, {}, { headers, signal: once.signal });
      if (answer.body) await read(answer.body, once);
    } catch (error) {
      if (control.signal.aborted) break;
      trouble.value = sentence(error);
      // Who may not follow events is told so once, and the views are read again now and then.
      if (error instanceof Refusal && (error.status === 401 || error.status === 403)) mayRetry = false;
    }
    connected.value = false;
    if (!mayRetry || control.signal.aborted) break;
    const wait = retryMs[Math.min(attempt++, retryMs.length - 1)] ?? 10_000;
    await new Promise((done) => setTimeout(done, wait * (0.75 + Math.random() / 2)));
  }
}

// The page ends the feed when it has been hidden for a while. It does not ask for the events of that time, which may be many.
function watchWhetherSeen(): void {
  let timer = 0;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (document.visibilityState === "visible") {
      unseen.value = false;
      return;
    }
    timer = window.setTimeout(() => {
      lastSeen = "";
      leftOut = true;
      unseen.value = true;
    }, unseenMs);
  });
}

/** Follows the feed while it is not paused and somebody looks; begins again with each new token. */
export function startFeed(): void {
  watchWhetherSeen();
  effect(() => {
    void token.value;
    const on = !paused.value && !unseen.value;
    stop?.abort();
    connected.value = false;
    if (!on) return;
    stop = new AbortController();
    void follow(stop);
  });
}
