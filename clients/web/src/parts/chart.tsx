// Curves over time (uPlot), with their numbers as a table for those who cannot see them.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { SmallTable } from "./sentence";
import { timeText, utc } from "./time";

export interface Curve {
  label: string;
  values: ReadonlyArray<number | null>;
  /** A curve of the second kind is dashed, so that colour is not the only sign. */
  dashed?: boolean;
  color: 1 | 2 | 3 | 4;
}

interface ChartProps {
  label: string;
  /** Seconds since 1970. */
  times: readonly number[];
  curves: readonly Curve[];
  text: (value: number) => string;
  /** Values hold until the next point. */
  steps?: boolean;
}

const dayS = 86_400;
// "14:03" within two days, else "11-24".
const axisText = (s: number, range: number, inUtc: boolean) => {
  const shift = inUtc ? 0 : new Date(s * 1000).getTimezoneOffset() * 60;
  const iso = new Date((s - shift) * 1000).toISOString();
  return range <= 600 ? iso.slice(11, 19) : range <= 2 * dayS ? iso.slice(11, 16) : iso.slice(5, 10);
};
const rowsAtMost = 48;

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const asTable = useSignal(false);
  const dark = useSignal(matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const change = () => (dark.value = query.matches);
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, []);
  const zone = utc.value;
  useEffect(() => {
    const into = box.current;
    if (!into) return;
    const style = getComputedStyle(into);
    // Canvas takes no custom properties: each is asked of an element that has it as its colour.
    const probe = document.createElement("i");
    into.append(probe);
    const color = (name: string) => {
      probe.className = `ink ink-${name}`;
      return getComputedStyle(probe).color;
    };
    const ink = color("text");
    const line = color("line");
    const strokes = props.curves.map((curve) => color(String(curve.color)));
    probe.remove();
    const stepped = uPlot.paths.stepped!({ align: 1 });
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line }, font: `12px ${style.fontFamily}` };
    const plot = new uPlot(
      {
        width: Math.max(240, into.clientWidth),
        height: 220,
        ...(zone ? { tzDate: (s: number) => uPlot.tzDate(new Date(s * 1000), "Etc/UTC") } : {}),
        scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.08 : 1] } },
        axes: [
          { ...axis, space: 90, values: (_, all) => all.map((at) => axisText(at, props.times[props.times.length - 1]! - props.times[0]!, zone)) },
          { ...axis, size: 64, values: (_, all) => all.map(props.text) },
        ],
        legend: { show: false },
        cursor: { drag: { x: false, y: false } },
        series: [
          {},
          ...props.curves.map((curve, i) => ({
            label: curve.label,
            stroke: strokes[i]!,
            width: 2,
            spanGaps: false,
            points: { show: !props.steps },
            ...(curve.dashed ? { dash: [6, 4] } : {}),
            ...(props.steps ? { paths: stepped } : {}),
          })),
        ],
      },
      [[...props.times], ...props.curves.map((curve) => [...curve.values])] as uPlot.AlignedData,
      into,
    );
    const watch = new ResizeObserver(() => plot.setSize({ width: Math.max(240, into.clientWidth), height: 220 }));
    watch.observe(into);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [props.times, props.curves, props.steps, dark.value, zone]);
  const words = props.curves.map((curve) => {
    const known = curve.values.filter((value): value is number => value !== null);
    return known.length === 0 ? `${curve.label}: nothing` : `${curve.label}: at most ${props.text(Math.max(...known))}, last ${props.text(known[known.length - 1]!)}`;
  });
  const every = Math.max(1, Math.ceil(props.times.length / rowsAtMost));
  return (
    <figure class="chart">
      <figcaption>
        <b>{props.label}</b>
        {props.curves.map((curve) => (
          <span key={curve.label}>
            <i class={`ink ink-${curve.color} key${curve.dashed ? " dashed" : ""}`} aria-hidden="true" /> {curve.label}
          </span>
        ))}
        <button type="button" class="quiet" aria-pressed={asTable.value} onClick={() => (asTable.value = !asTable.value)}>
          As a table
        </button>
      </figcaption>
      <div ref={box} class="plot" role="img" aria-label={`${props.label}. ${words.join("; ")}`} />
      {asTable.value && (
        <SmallTable
          label={props.label}
          head={["Time", ...props.curves.map((curve) => curve.label)]}
          rows={props.times
            .map((at, i) => [timeText(new Date(at * 1000), zone), ...props.curves.map((curve) => (curve.values[i] == null ? "–" : props.text(curve.values[i]!)))])
            .filter((_, i) => i % every === 0)}
        />
      )}
    </figure>
  );
}
