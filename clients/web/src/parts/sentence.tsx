// The sentence that a view begins with: what is so, and why.
import type { ComponentChildren } from "preact";

export function Sentence(props: { children: ComponentChildren; tone?: "good" | "bad" | "wait" }) {
  return <p class={`sentence ${props.tone ?? ""}`}>{props.children}</p>;
}

/** Names with their values, one below the other. */
export function Facts(props: { rows: ReadonlyArray<readonly [string, ComponentChildren] | null | false> }) {
  return (
    <dl class="facts">
      {props.rows.map(
        (row) =>
          row && (
            <div key={row[0]}>
              <dt>{row[0]}</dt>
              <dd>{row[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

// A cell of more characters gets a width of its own: else it is squeezed to a tower on a narrow screen.
const longText = 40;

/**
 * A plain table of few rows. On a narrow screen each row stands as a block with the heads before its
 * cells, so that nothing of it is cut; the roles keep it a table for screen readers.
 */
export function SmallTable(props: { label: string; head: readonly string[]; rows: ReadonlyArray<readonly ComponentChildren[]> }) {
  return (
    <div class="scroll" role="region" aria-label={props.label} tabIndex={0}>
      <table class="small" role="table">
        <thead role="rowgroup">
          <tr role="row">
            {props.head.map((one) => (
              <th key={one} scope="col" role="columnheader">
                {one}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {props.rows.map((row, index) => (
            <tr key={index} role="row">
              {row.map((cell, at) => (
                <td key={at} role="cell" data-head={props.head[at]} class={cell === "" || cell === null || cell === undefined ? "none" : typeof cell === "string" && cell.length > longText ? "long" : undefined}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
