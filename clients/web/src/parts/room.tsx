// What of a member's resources is used and free.
import { amountOf, readable } from "../model/quantity";
import { Bar } from "./bar";

export function Room(props: { name: string; allocatable: Record<string, string>; free: Record<string, string>; others?: Record<string, string> }) {
  const resources = Object.keys(props.allocatable).sort();
  if (resources.length === 0) return <p class="note">It has not told what it has.</p>;
  return (
    <div class="quota-bars">
      {resources.map((resource) => {
        const whole = amountOf(props.allocatable[resource]);
        const free = Math.max(0, amountOf(props.free[resource] ?? "0"));
        const others = amountOf(props.others?.[resource]);
        const mine = Math.max(0, whole - free - others);
        return (
          <div key={resource}>
            <h3>{resource}</h3>
            <Bar
              label={`${resource} of ${props.name}`}
              max={whole}
              parts={[
                { label: "jobs", value: mine, kind: 1, text: readable(String(mine), resource) },
                ...(others > 0 ? [{ label: "others", value: others, kind: 3 as const, text: readable(String(others), resource) }] : []),
                { label: "free", value: free, kind: 5, text: readable(String(free), resource) },
              ]}
              ticks={[{ label: "in all", value: whole, text: readable(props.allocatable[resource], resource) }]}
            />
          </div>
        );
      })}
    </div>
  );
}
