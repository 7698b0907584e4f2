// Durations as people read them. Pure.

const pair = (whole: number, unit: string, rest: number, small: string) => (rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${small}`);

/** "40 ms", "4.2 s", "3 min 5 s", "1 min", "2 h 7 min", "3 d 4 h". */
export function durationText(ms: number): string {
  const s = Math.max(0, ms) / 1_000;
  if (s === 0) return "0 s";
  if (s < 1) return `${Math.max(1, Math.floor(s * 1_000))} ms`;
  // What is 9.97 s is not "10.0 s".
  if (s < 10) return `${(Math.floor(s * 10) / 10).toFixed(1)} s`;
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3_600) return pair(Math.floor(s / 60), "min", Math.floor(s % 60), "s");
  if (s < 86_400) return pair(Math.floor(s / 3_600), "h", Math.floor((s % 3_600) / 60), "min");
  return pair(Math.floor(s / 86_400), "d", Math.floor((s % 86_400) / 3_600), "h");
}
