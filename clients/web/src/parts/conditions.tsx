// Conditions with a sign beside each colour, and words for both.
import type { Condition } from "../model/queues";
import { Time } from "./time";

const signs: Record<string, [string, string, string]> = {
  True: ["✓", "ok", "yes"],
  False: ["✕", "off", "no"],
  Unknown: ["?", "unsure", "unknown"],
};

export function ConditionMark(props: { type: string; condition: Condition | null }) {
  const [sign, tone, word] = signs[props.condition?.status ?? ""] ?? ["–", "faint", "not told yet"];
  return (
    <span class={tone} title={props.condition?.message ?? "not told yet"}>
      <span aria-hidden="true">{sign} </span>
      {props.type}
      <span class="faint"> {word}</span>
    </span>
  );
}

export function ConditionList(props: { conditions: ReadonlyArray<{ type: string; condition: Condition | null }> }) {
  return (
    <ul class="plain">
      {props.conditions.map(({ type, condition }) => (
        <li key={type}>
          <ConditionMark type={type} condition={condition} />
          {condition && (
            <span class="note">
              {condition.lastTransitionTime && (
                <>
                  {" "}
                  since <Time at={condition.lastTransitionTime} />
                </>
              )}
              {condition.reason ? ` · ${condition.reason}` : ""}
              {condition.message ? `: ${condition.message}` : ""}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
