// Pace: when a part of a view is read again after events. Pure: it is told the time (ms). The
// benchmark of open pages (tests/bench/web_pages.mjs) keeps the pace of this very file.

/** At most one part in so many of the time is spent on reading one thing again. */
const shareOfTime = 50;
/** But it is read that often at least: a computer that slept during a reading has not been busy with it. */
const longestPauseMs = 60_000;
/** So many events between two readings are more than a reader follows: then it is read more seldom. */
export const manyEvents = 100;
/** As many times the gap at most, and no gap becomes longer than `longestMs` by that. */
const mostSlower = 4;
const longestMs = 15_000;
/** After so long without an event the last state is due, however many events there were before. */
export const quietMs = 1_000;

export class Pace {
  private last = 0;
  private took = 0;
  private slower = 1;
  private came = 0;
  private heard = 0;
  private gap = Infinity;

  /** Something made it old: `events` of them, after which it may be read `gap` ms after the last reading. */
  changed(gap: number, events: number, now: number): void {
    this.gap = Math.min(this.gap, gap);
    this.came += events;
    if (events > 0) this.heard = now;
  }

  /** When it is to be read: Infinity if nothing made it old since the last reading began. */
  due(now: number): number {
    if (this.gap === Infinity) return Infinity;
    const pause = Math.min(this.took * shareOfTime, longestPauseMs);
    const soonest = this.last + Math.max(this.gap, pause);
    const slow = Math.max(this.gap, Math.min(this.gap * this.slower, longestMs));
    const latest = this.last + Math.max(slow, pause);
    // Between the two it is read when the events pause.
    return Math.max(now, soonest, Math.min(latest, this.heard + quietMs));
  }

  /** A reading begins. */
  begins(now: number): void {
    this.slower = this.came >= manyEvents ? Math.min(this.slower * 2, mostSlower) : 1;
    this.came = 0;
    this.gap = Infinity;
    this.last = now;
  }

  /** The reading has ended. */
  ended(now: number): void {
    this.took = now - this.last;
  }
}
