// Kubernetes quantities as numbers and back. Numbers are for bars and sums; what the daemon says is
// shown in its own words.
const factors: Record<string, number> = {
  n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60,
};

/** 0 for a text that is no quantity. */
export function amountOf(text: string | null | undefined): number {
  const found = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$/.exec(text ?? "");
  if (!found) return 0;
  const value = Number(found[1]) * factors[found[2] ?? ""]!;
  return Number.isFinite(value) ? value : 0;
}

const inBytes = (resource: string) => /memory|storage|^hugepages-/.test(resource);
const short = (value: number) => String(Number(value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)));

/** A number of a resource as a person reads it: "12", "1.2", "62.5 Gi". */
export function amountText(value: number, resource: string): string {
  if (!inBytes(resource)) return short(value);
  const units = ["", " Ki", " Mi", " Gi", " Ti", " Pi"];
  let at = 0;
  while (Math.abs(value) >= 1024 && at < units.length - 1) {
    value /= 1024;
    ++at;
  }
  return short(value) + units[at];
}

/** The text of a quantity made readable: "130304Mi" as "127 Gi". */
export const readable = (text: string | null | undefined, resource: string): string => amountText(amountOf(text), resource);
