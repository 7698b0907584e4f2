// Jobs of a span of time with their attempts, page by page.
import { call } from "../api/client";
import { withLive, type Accounted } from "../model/history";

export const rowsAtMost = 20_000;
const pageSize = 1_000;

export interface Accounting {
  rows: Accounted[];
  /** There are more than rowsAtMost. */
  cut: boolean;
}

export async function readAccounting(since: number, filter: { namespace?: string; user?: string } = {}): Promise<Accounting> {
  const rows: Accounted[] = [];
  for (let more = ""; ; ) {
    const page = (await call("accounting", {}, { since: new Date(since).toISOString(), ...filter, limit: pageSize, page_token: more })) as unknown as { items: Accounted[]; next_page_token: string };
    rows.push(...page.items.map(withLive));
    more = page.next_page_token;
    if (more === "") return { rows, cut: false };
    if (rows.length >= rowsAtMost) return { rows, cut: true };
  }
}
