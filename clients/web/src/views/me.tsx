// Me: who the daemon takes me for, what it takes as proof, and what it says of itself.
import { call, token, useToken } from "../api/client";
import { useData } from "../live/data";
import { Command } from "../parts/command";
import { Facts, Sentence } from "../parts/sentence";
import { Loaded } from "../parts/states";
import { Time } from "../parts/time";
import type { View } from "./view";

function Me() {
  const who = useData("whoami", () => call("whoAmI"), { on: () => false });
  const status = useData("status", () => call("status"), { gap: 5_000 });
  return (
    <>
      <h1>Me</h1>
      <Loaded data={who.value} again={who.again}>
        {(one) => (
          <>
            <Sentence>
              You are <b>{one.user}</b>
              {one.impersonator ? `, acted as by ${one.impersonator}` : ""}.
            </Sentence>
            <Facts
              rows={[
                ["known by", `${one.method} (${one.credential || one.source})`],
                ["groups", one.groups.join(", ") || "none"],
                one.expires ? ["until", <Time at={one.expires} />] : null,
                ["sign in with", (one.accepts ?? []).join("; ")],
                ["command", <Command text="muster whoami" />],
              ]}
            />
          </>
        )}
      </Loaded>
      {token.value !== "" && (
        <p>
          <button type="button" onClick={() => useToken("")}>
            Sign out
          </button>
        </p>
      )}
      <h2>The daemon</h2>
      <Loaded data={status.value} again={status.again}>
        {(one) => (
          <>
            <Facts
              rows={[
                ["version", one.version],
                ["ready", one.ready ? "yes" : `no: ${one.reasons.join("; ")}`],
                ["last event", <span class="num">{one.lastEvent}</span>],
              ]}
            />
            {one.warnings.length > 0 && <h3>Warnings</h3>}
            <ul>
              {one.warnings.map((warning) => (
                <li key={warning.type}>
                  <b>{warning.type}</b>: {warning.message}
                </li>
              ))}
            </ul>
          </>
        )}
      </Loaded>
    </>
  );
}

export const me: View = { path: "/me", title: () => "Me", menu: "Me", key: "i", show: Me };
