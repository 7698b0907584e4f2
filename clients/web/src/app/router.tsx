// Where the page is: the path below /ui and the query, as signals. Every view has an address that
// can be shared; what a view is told to show stands in its query.
import { computed, signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";

const base = "/ui";

const here = signal(location.pathname + location.search);
export const path = computed(() => here.value.split("?")[0]!.slice(base.length).replace(/\/$/, "") || "/");
export const query = computed(() => new URLSearchParams(here.value.split("?")[1] ?? ""));

addEventListener("popstate", () => (here.value = location.pathname + location.search));

// A part of an address as it was meant; one that is not encoded well stands for itself.
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Goes to a path below /ui, "/jobs?state=Failed"; `replace` leaves no step to go back to. */
export function go(to: string, replace = false): void {
  const target = base + to;
  if (target === here.value) return;
  const before = path.peek();
  history[replace ? "replaceState" : "pushState"](null, "", target);
  here.value = target;
  // Another view begins at its top; a step back is left to the browser.
  if (path.peek() !== before) scrollTo(0, 0);
}

/** Sets parameters of the query of this address; "" removes one. */
export function setQuery(changes: Record<string, string>, replace = true): void {
  const next = new URLSearchParams(query.peek());
  for (const [key, value] of Object.entries(changes)) {
    if (value === "") next.delete(key);
    else next.set(key, value);
  }
  const text = next.toString();
  go(path.peek() + (text === "" ? "" : `?${text}`), replace);
}

/** The address of a path below /ui, for `href`. */
export const addressOf = (to: string): string => base + to;

/** A link within the page. */
export function Link(props: { to: string; children: ComponentChildren } & Omit<JSX.IntrinsicElements["a"], "href" | "role">) {
  const { to, children, ...rest } = props;
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={addressOf(to)} onClick={follow} {...rest}>
      {children}
    </a>
  );
}

/** The parameters of a pattern such as "/jobs/:id" if `at` is of it; else null. */
export function matches(pattern: string, at: string): Record<string, string> | null {
  const want = pattern.split("/");
  const have = at.split("/");
  if (want.length !== have.length) return null;
  const params: Record<string, string> = {};
  for (let i = 0; i < want.length; ++i) {
    const part = want[i]!;
    if (part.startsWith(":")) params[part.slice(1)] = decoded(have[i]!);
    else if (part !== have[i]) return null;
  }
  return params;
}
