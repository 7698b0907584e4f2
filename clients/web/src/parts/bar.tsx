// One stacked bar with ticks, and its numbers as text beside it: what a bar says is never in its
// colours and lengths alone.
export interface Part {
  label: string;
  value: number;
  /** One of the classes bar-1 to bar-5 of the style sheet. */
  kind: 1 | 2 | 3 | 4 | 5;
  text: string;
}
export interface Tick {
  label: string;
  value: number;
  text: string;
}

export function Bar(props: { label: string; parts: Part[]; ticks?: Tick[]; max: number }) {
  const ticks = props.ticks ?? [];
  const max = Math.max(props.max, 1e-9);
  const at = (value: number) => Math.min(100, (100 * value) / max);
  let x = 0;
  const shown = props.parts.filter((part) => part.value > 0);
  const words = [...props.parts, ...ticks].map((one) => `${one.label} ${one.text}`).join(", ");
  return (
    <div class="bar">
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label={`${props.label}: ${words}`}>
        <rect class="bar-back" x="0" y="1" width="100" height="6" />
        {shown.map((part) => {
          const width = at(part.value);
          const from = x;
          x += width;
          return <rect key={part.label} class={`bar-${part.kind}`} x={from} y="1" width={Math.max(0, Math.min(width, 100 - from))} height="6" />;
        })}
        {ticks.map((tick) => (
          <rect key={tick.label} class="bar-tick" x={Math.min(99.4, at(tick.value))} y="0" width="0.6" height="8" />
        ))}
      </svg>
      <div class="bar-words">
        {props.parts.map((part) => (
          <span key={part.label}>
            <i class={`swatch bar-${part.kind}`} aria-hidden="true" />
            {part.label} <b class="num">{part.text}</b>
          </span>
        ))}
        {ticks.map((tick) => (
          <span key={tick.label}>
            <i class="swatch-tick" aria-hidden="true" />
            {tick.label} <b class="num">{tick.text}</b>
          </span>
        ))}
      </div>
    </div>
  );
}
