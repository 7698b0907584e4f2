// useData: what a view shows, read when it is opened, again after events that concern it, and every
// now and then where there is no feed. Old data stays on the page while new data is read.
import { effect, signal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { Refusal, sentence, token } from "../api/client";
import type { Event } from "../api/types";
import { listen, liveState, paused } from "./feed";
import { Pace } from "./pace";

export interface Data<T> {
  value: T | undefined;
  /** Why the last reading failed; "" if it did not. */
  error: string;
  /** It failed because nobody answered, which the frame of the page tells of all its parts at once. */
  away?: boolean;
  loading: boolean;
  /** When `value` was read. */
  readAt: number;
}
export interface DataSource<T> extends Signal<Data<T>> {
  again: () => void;
}

interface Options {
  /** Whether an event makes the data old; every event if absent. */
  on?: (event: Event) => boolean;
  /** At least so many ms between two readings after events. */
  gap?: number;
  /** Other events make it a little old: at least so many ms between two readings after them; absent: they do not. */
  others?: number;
  /** Read again after so many ms without the feed. */
  every?: number;
}

/** What a daemon that was away did not answer is asked again after so long. */
const awayMs = 4_000;

/** `key` names what is read: with another key it is read anew. */
export function useData<T>(key: string, read: (stop: AbortSignal) => Promise<T>, options: Options = {}): DataSource<T> {
  const source = useMemo(() => {
    const made = signal<Data<T>>({ value: undefined, error: "", loading: true, readAt: 0 }) as DataSource<T>;
    made.again = () => undefined;
    return made;
  }, [key]);
  useEffect(() => {
    const gap = options.gap ?? 1_000;
    const pace = new Pace();
    let control: AbortController | null = null;
    let timer = 0;
    let retryTimer = 0;
    let wanted = false;
    const run = async () => {
      if (control) {
        wanted = true;
        return;
      }
      wanted = false;
      control = new AbortController();
      const mine = control;
      clearTimeout(timer);
      clearTimeout(retryTimer);
      pace.begins(Date.now());
      source.value = { ...source.peek(), loading: true };
      try {
        const value = await read(mine.signal);
        if (mine.signal.aborted) return;
        pace.ended(Date.now());
        source.value = { value, error: "", loading: false, readAt: Date.now() };
      } catch (error) {
        if (mine.signal.aborted) return;
        const away = error instanceof Refusal && (error.status === 0 || error.status === 503);
        source.value = { ...source.peek(), error: sentence(error), away, loading: false };
        // Also if the feed is there again already: no event may come for a long while.
        if (away) retry(awayMs);
      } finally {
        if (control === mine) control = null;
      }
      if (wanted && !mine.signal.aborted) soon();
    };
    // `events` of them made it old; 0: something else did.
    const soon = (after = gap, events = 0) => {
      pace.changed(after, events, Date.now());
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        timer = 0;
        if (!paused.peek() && document.visibilityState === "visible") void run();
        else wanted = true;
      }, Math.max(0, pace.due(Date.now()) - Date.now()));
    };
    // What nobody answered has cost the daemon nothing, so this keeps no pace.
    const retry = (most: number) => {
      clearTimeout(retryTimer);
      retryTimer = window.setTimeout(() => {
        if (!paused.peek() && document.visibilityState === "visible") void run();
        else wanted = true;
      }, most * (0.5 + Math.random() / 2));
    };
    source.again = () => void run();
    const unlisten = listen((events) => {
      const own = options.on ? events.filter(options.on).length : events.length;
      if (events.length === 0 || own > 0) soon(gap, own);
      else if (options.others !== undefined) soon(options.others);
    });
    // What came while the page was hidden or paused is read when it is looked at again.
    const shown = () => wanted && soon();
    document.addEventListener("visibilitychange", shown);
    const stopPause = effect(() => {
      if (!paused.value && wanted) soon();
    });
    // What could not be read while the daemon was away is read once it is there again, whether or not an event comes.
    const stopBack = effect(() => {
      if (liveState.value === "live" && source.peek().error !== "") retry(1_000);
    });
    const ticker = window.setInterval(() => {
      if (liveState.peek() !== "live" && !paused.peek()) soon();
    }, options.every ?? 10_000);
    const stopToken = effect(() => {
      void token.value;
      void run();
    });
    return () => {
      stopToken();
      stopPause();
      stopBack();
      unlisten();
      document.removeEventListener("visibilitychange", shown);
      clearInterval(ticker);
      clearTimeout(timer);
      clearTimeout(retryTimer);
      control?.abort();
    };
  }, [source]);
  return source;
}
