// Keys that work everywhere, and those that views add. `?` lists them. A sequence such as "g j" is
// two keys one after the other. While a field is typed into they do nothing.
import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

export interface Key {
  keys: string;
  what: string;
  run: () => void;
}

export const keys = signal<readonly Key[]>([]);

/** Adds keys until the returned function is called. */
export function addKeys(more: readonly Key[]): () => void {
  keys.value = [...keys.peek(), ...more];
  return () => (keys.value = keys.peek().filter((one) => !more.includes(one)));
}

/** Keys of a view, from its first sight for as long as it is shown. */
export function useKeys(more: readonly Key[]): void {
  useLayoutEffect(() => addKeys(more), []);
}

const sequenceMs = 1_200;
let before = "";
let beforeAt = -Infinity;

export function startKeys(): void {
  addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    const typing = target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    // When it was pressed, not when it is heard: a page that is busy does not break a sequence.
    const pressed = event.timeStamp - beforeAt < sequenceMs ? `${before} ${event.key}` : event.key;
    // The key of a view goes before one of the whole page.
    const found = keys.peek().findLast((one) => one.keys === pressed) ?? keys.peek().findLast((one) => one.keys === event.key);
    before = found ? "" : event.key;
    beforeAt = found ? -Infinity : event.timeStamp;
    if (!found) return;
    event.preventDefault();
    found.run();
  });
}
