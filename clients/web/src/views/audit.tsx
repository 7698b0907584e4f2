// Audit: who asked for what, and what came of it. For administrators.
import { query, setQuery } from "../app/router";
import { call } from "../api/client";
import type { AuditEntry } from "../api/types";
import { useData } from "../live/data";
import { Command, shellWord } from "../parts/command";
import { Choice, Field, ReadAgain } from "../parts/form";
import { SmallTable } from "../parts/sentence";
import { Empty, Loaded } from "../parts/states";
import { Time } from "../parts/time";
import type { View } from "./view";
import "../style/views.css";

const pageSize = 200;
const spans: ReadonlyArray<readonly [string, string]> = [
  ["", "any time"],
  ["1h", "the last hour"],
  ["24h", "the last day"],
  ["168h", "the last week"],
  ["720h", "the last 30 days"],
];

/** RFC 3339 of a span before now; "" for any time. */
function since(span: string): string {
  const hours = Number(/^(\d+)h$/.exec(span)?.[1] ?? 0);
  return hours === 0 ? "" : new Date(Date.now() - hours * 3_600_000).toISOString();
}

const results: Record<AuditEntry["result"], readonly [string, string]> = { allowed: ["✓", "ok"], refused: ["⊘", "off"], failed: ["✕", "unsure"] };

function Result(props: { entry: AuditEntry }) {
  const [sign, tone] = results[props.entry.result] ?? ["?", "unsure"];
  return (
    <span class={tone}>
      <span aria-hidden="true">{sign} </span>
      {props.entry.result}
      {props.entry.code !== "OK" && <span class="note"> {props.entry.code}</span>}
    </span>
  );
}

function Audit() {
  const at = (name: string) => query.value.get(name) ?? "";
  const filter = { user: at("user"), verb: at("verb"), object: at("object"), until: at("until") };
  const span = at("since");
  const only = at("result");
  const key = JSON.stringify([filter, span]);
  const data = useData(`audit ${key}`, () => call("listAudit", {}, { ...filter, since: since(span), limit: pageSize }), { on: () => false, every: 600_000 });
  const command = [
    "muster audit",
    ...(span !== "" ? [`--since ${span}`] : []),
    ...Object.entries(filter)
      .filter(([, value]) => value !== "")
      .map(([name, value]) => `--${name} ${shellWord(value)}`),
  ].join(" ");
  return (
    <>
      <h1>Audit</h1>
      <div class="row">
        <Field label="User" type="search" value={filter.user} set={(user) => setQuery({ user, until: "" })} />
        <Field label="Verb" type="search" value={filter.verb} set={(verb) => setQuery({ verb, until: "" })} list={["create", "update", "patch", "delete", "cancel", "hold", "release", "requeue", "get"]} />
        <Field label="Object" type="search" value={filter.object} set={(object) => setQuery({ object, until: "" })} />
        <Choice label="When" value={span} set={(value) => setQuery({ since: value, until: "" })} options={spans} />
        <Choice
          label="Result"
          value={only}
          set={(result) => setQuery({ result })}
          options={[
            ["", "all"],
            ["allowed", "allowed"],
            ["refused", "refused"],
            ["failed", "failed"],
          ]}
        />
        <ReadAgain again={data.again} />
      </div>
      <p class="note">
        An object reads clusterqueue/team-a or job/default/train; with / at its end it stands for all below it.
      </p>
      <Loaded data={data.value} again={data.again}>
        {(answer) => {
          const rows = [...answer.items].reverse().filter((one) => only === "" || one.result === only);
          const oldest = answer.items[0];
          return (
            <>
              {rows.length === 0 ? (
                <Empty>
                  <p>No row matches.</p>
                  <p>
                    <button type="button" onClick={() => setQuery({ user: "", verb: "", object: "", since: "", until: "", result: "" })}>
                      Show all
                    </button>
                  </p>
                </Empty>
              ) : (
                <SmallTable
                  label="The audit trail, the newest first"
                  head={["Number", "When", "Who", "Verb", "Object", "Result", "Detail", "Known by", "From"]}
                  rows={rows.map((one) => [
                    <span class="num">{one.id}</span>,
                    <Time at={one.time} />,
                    `${one.user || "not known"}${one.impersonator ? ` (by ${one.impersonator})` : ""}`,
                    one.verb,
                    one.object,
                    <Result entry={one} />,
                    `${one.detail.replaceAll("->", "→")}${one.count > 1 ? ` (${one.count} equal requests)` : ""}`,
                    one.method,
                    one.source,
                  ])}
                />
              )}
              <div class="row">
                {answer.items.length === pageSize && oldest && (
                  <button type="button" onClick={() => setQuery({ until: oldest.time }, false)}>
                    Older
                  </button>
                )}
                {filter.until !== "" && (
                  <button type="button" onClick={() => setQuery({ until: "" }, false)}>
                    The newest
                  </button>
                )}
              </div>
            </>
          );
        }}
      </Loaded>
      <p>
        <Command text={command} /> <Command text="muster audit --verify" />
      </p>
    </>
  );
}

export const audit: View = {
  path: "/audit",
  title: () => "Audit",
  menu: "Audit",
  key: "a",
  needs: { verb: "list", group: "muster.io", resource: "audit" },
  show: Audit,
};
