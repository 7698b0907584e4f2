// Times as people read them: local time or UTC as they choose, ISO 8601 on hover, and durations.
import { signal } from "@preact/signals";
import { durationText } from "../model/duration";
import { cutAtTimes } from "../model/words";

const zoneKey = "muster.utc";
export const utc = signal(localStorage.getItem(zoneKey) === "1");
export function setUtc(on: boolean): void {
  localStorage.setItem(zoneKey, on ? "1" : "0");
  utc.value = on;
}

/** The time now, renewed every second for durations that grow. */
export const now = signal(Date.now());
setInterval(() => document.visibilityState === "visible" && (now.value = Date.now()), 1_000);

const two = (value: number) => String(value).padStart(2, "0");

/** "14:03:07" today, "2026-11-24 14:03:07" on another day. */
export function timeText(at: Date, inUtc: boolean): string {
  const part = inUtc
    ? [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate(), at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()]
    : [at.getFullYear(), at.getMonth(), at.getDate(), at.getHours(), at.getMinutes(), at.getSeconds()];
  const [year, month, day, hour, minute, second] = part as [number, number, number, number, number, number];
  const today = new Date();
  const sameYear = year === (inUtc ? today.getUTCFullYear() : today.getFullYear());
  const sameDay =
    sameYear && month === (inUtc ? today.getUTCMonth() : today.getMonth()) && day === (inUtc ? today.getUTCDate() : today.getDate());
  const clock = `${two(hour)}:${two(minute)}:${two(second)}`;
  if (sameDay) return clock;
  const date = `${year}-${two(month + 1)}-${two(day)}`;
  return `${date} ${clock}`;
}

/** A point in time; "–" if there is none. */
export function Time(props: { at: string | null | undefined }) {
  if (!props.at) return <span class="faint">–</span>;
  const date = new Date(props.at);
  if (Number.isNaN(date.getTime())) return <span>{props.at}</span>;
  return (
    <time dateTime={props.at} title={props.at} class="num">
      {timeText(date, utc.value)}
    </time>
  );
}

/** A sentence of the daemon. Times in it are shown as all times are. */
export function Said(props: { text: string }) {
  return <>{cutAtTimes(props.text).map((one, index) => (one.at ? <Time key={index} at={one.text} /> : one.text))}</>;
}

/** How long from one time to another, or until now. */
export function Duration(props: { from: string | null | undefined; to?: string | null | undefined }) {
  if (!props.from) return <span class="faint">–</span>;
  const end = props.to ? Date.parse(props.to) : now.value;
  return <span class="num">{durationText(end - Date.parse(props.from))}</span>;
}
