// Words with their numbers. Pure.

/** "1 job", "2 jobs". */
export const countText = (n: number, one: string, more = `${one}s`): string => `${n} ${n === 1 ? one : more}`;

/** A share of a whole: "0 %", "0.4 %", "37 %". */
export function percentText(part: number, whole: number): string {
  if (whole <= 0) return "–";
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 0.1) return "under 0.1 %";
  return `${percent < 10 ? Number(percent.toFixed(1)) : Math.round(percent)} %`;
}

/** What the daemon says, cut at the times in it, which a page shows as it shows all times. */
export function cutAtTimes(text: string): Array<{ text: string; at: boolean }> {
  const pieces = text.split(/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/);
  return pieces.map((piece, index) => ({ text: piece, at: index % 2 === 1 })).filter((one) => one.text !== "");
}
