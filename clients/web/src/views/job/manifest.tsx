// The manifest of a job: as it was submitted, as its member gets it, and what differs.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { call } from "../../api/client";
import { useData } from "../../live/data";
import { Loaded } from "../../parts/states";
import { diffLines, sorted, toYaml } from "../../parts/yaml";

type Shown = "submitted" | "sent" | "difference";

function Difference(props: { submitted: unknown; sent: unknown }) {
  const lines = useMemo(() => diffLines(toYaml(sorted(props.submitted)), toYaml(sorted(props.sent))), [props.submitted, props.sent]);
  return (
    <pre class="code" tabIndex={0} aria-label="Difference: lines with - were submitted, lines with + are sent">
      {lines.map((line, index) => (
        <span key={index} class={line.sign === "+" ? "plus" : line.sign === "-" ? "minus" : ""}>
          {line.sign} {line.text}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

export function Manifest(props: { id: string; version: string }) {
  const shown = useSignal<Shown>("submitted");
  const data = useData(`manifest ${props.id} ${props.version}`, (stop) => call("jobManifest", { id: props.id }, {}, { signal: stop }), { on: () => false });
  return (
    <Loaded data={data.value} again={data.again}>
      {(one) => (
        <>
          <div class="row" role="group" aria-label="Which manifest">
            {(["submitted", "sent", "difference"] as const).map((name) => (
              <button key={name} type="button" aria-pressed={shown.value === name} onClick={() => (shown.value = name)}>
                {{ submitted: "As submitted", sent: "As sent to its member", difference: "Difference" }[name]}
              </button>
            ))}
          </div>
          {shown.value !== "submitted" && !one.sent && <p class="faint">Nothing is sent while the job holds no quota.</p>}
          {shown.value === "submitted" && (
            <pre class="code" tabIndex={0} aria-label="Manifest as submitted">
              {toYaml(one.submitted)}
            </pre>
          )}
          {shown.value === "sent" && one.sent && (
            <pre class="code" tabIndex={0} aria-label="Manifest as sent">
              {one.sent.map((part) => toYaml(part)).join("\n---\n")}
            </pre>
          )}
          {shown.value === "difference" && one.sent && <Difference submitted={one.submitted} sent={one.sent[0]} />}
        </>
      )}
    </Loaded>
  );
}
