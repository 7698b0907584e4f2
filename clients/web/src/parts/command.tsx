// The command line that shows or does the same, to copy.
import { useSignal } from "@preact/signals";

/** A word of a command line for a POSIX shell. */
export const shellWord = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

export function Command(props: { text: string }) {
  const copied = useSignal(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(props.text);
      copied.value = true;
      setTimeout(() => (copied.value = false), 1_500);
    } catch {
      // Without the right to the clipboard the text can still be selected.
    }
  };
  return (
    <span class="command">
      <code>
        {/* A word of it is not broken at its hyphens, else one reads two options. */}
        {props.text.split(" ").map((word, index) => (
          <>
            {index > 0 && " "}
            <span>{word}</span>
          </>
        ))}
      </code>
      <button type="button" class="quiet" aria-label={`Copy ${props.text}`} onClick={copy}>
        {copied.value ? "copied" : "copy"}
      </button>
    </span>
  );
}
