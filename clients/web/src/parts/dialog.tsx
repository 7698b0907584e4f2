// A dialog over the page: focus stays in it, Escape closes it, and focus goes back where it was.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

let numbers = 0;

export function Dialog(props: { title: string; close: () => void; children: ComponentChildren; wide?: boolean }) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useRef(`dialog-${++numbers}`);
  // Not after the next paint: keys that are pressed until then would be those of the page.
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    box.current?.showModal();
    // The browser would begin at the button that closes it; who opened a form wants to type.
    box.current?.querySelector<HTMLElement>(".dialog-body input, .dialog-body textarea")?.focus();
    return () => before?.focus();
  }, []);
  return (
    <dialog
      ref={box}
      class={props.wide ? "wide" : ""}
      aria-labelledby={id.current}
      onClose={props.close}
      onClick={(event) => event.target === box.current && props.close()}
    >
      <header>
        <h2 id={id.current}>{props.title}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={props.close}>
          ✕
        </button>
      </header>
      <div class="dialog-body">{props.children}</div>
    </dialog>
  );
}
