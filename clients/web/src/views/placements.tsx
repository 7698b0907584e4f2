// Placements: where jobs and objects go, how far they are, and what differs on the members.
import { Link } from "../app/router";
import type { PlacedDifference, PlacedResource } from "../api/types";
import { useData } from "../live/data";
import { addressOfPlacement, conditionsInOrder, nameOfPlacement, pickedBy, troubleOf, troubleOn, type Placement } from "../model/placements";
import { Command, shellWord } from "../parts/command";
import { ConditionList, ConditionMark } from "../parts/conditions";
import { getObject, listObjects, placementGroup } from "../parts/objects";
import { Facts, Sentence, SmallTable } from "../parts/sentence";
import { Empty, Loaded } from "../parts/states";
import { Time } from "../parts/time";
import type { View, ViewProps } from "./view";
import "../style/views.css";

function Placements() {
  const data = useData(
    "placements",
    async () => (await Promise.all([listObjects<Placement>("placement", "clusterresourceplacements").catch(() => []), listObjects<Placement>("placement", "resourceplacements")])).flat(),
    { gap: 5_000 },
  );
  return (
    <>
      <h1>Placements</h1>
      <Loaded data={data.value} again={data.again}>
        {(all) => {
          if (all.length === 0) {
            return (
              <Empty>
                <p>There is no placement that you may see. Without one, a job goes to the member where it fits best.</p>
                <p>
                  <Command text="muster apply -f examples/mission/guide-placements.yaml" /> makes two.
                </p>
              </Empty>
            );
          }
          const troubled = all.filter((one) => Object.values(troubleOf(one)).some((n) => n > 0));
          return (
            <>
              <Sentence tone={troubled.length > 0 ? "bad" : "good"}>
                {all.length} {all.length === 1 ? "placement" : "placements"}; {troubled.length === 0 ? "nothing failed or drifted" : `something failed, drifted or differs in ${troubled.map(nameOfPlacement).join(", ")}`}.
              </Sentence>
              <SmallTable
                label="Placements"
                head={["Placement", "Members", "State", "Failed", "Drifted", "Differ"]}
                rows={[...troubled, ...all.filter((one) => !troubled.includes(one))].map((one) => {
                  const trouble = troubleOf(one);
                  return [
                    <Link to={addressOfPlacement(one)}>{nameOfPlacement(one)}</Link>,
                    pickedBy(one).join(", ") || "none",
                    <ul class="plain inline">
                      {conditionsInOrder(one.status?.conditions).map(({ type, condition }) => (
                        <li key={type}>
                          <ConditionMark type={type} condition={condition} />
                        </li>
                      ))}
                    </ul>,
                    trouble.failed,
                    trouble.drifted,
                    trouble.differ,
                  ];
                })}
              />
              <p>
                <Command text="muster get rp -A" /> <Command text="muster get crp" />
              </p>
            </>
          );
        }}
      </Loaded>
    </>
  );
}

const objectName = (one: PlacedResource) => `${one.kind} ${one.namespace ? `${one.namespace}/` : ""}${one.name}`;

// What could not be applied, or is not available, with the condition that says so.
function Failures(props: { objects: readonly PlacedResource[] }) {
  if (props.objects.length === 0) return null;
  return (
    <>
      <h3>Failed</h3>
      <SmallTable
        label="Failed"
        head={["Object", "Since", "Condition", "Why"]}
        rows={props.objects.map((one) => [
          objectName(one),
          <Time at={one.condition?.lastTransitionTime} />,
          one.condition ? (
            <>
              <ConditionMark type={one.condition.type ?? ""} condition={one.condition} /> <span class="note">{one.condition.reason}</span>
            </>
          ) : (
            "not told"
          ),
          one.condition?.message ?? "",
        ])}
      />
    </>
  );
}

function Differences(props: { title: string; objects: readonly PlacedResource[]; of: (one: PlacedResource) => PlacedDifference[] | undefined; since: (one: PlacedResource) => string | undefined }) {
  if (props.objects.length === 0) return null;
  return (
    <>
      <h3>{props.title}</h3>
      <SmallTable
        label={props.title}
        head={["Object", "Since", "Path", "On the member", "In the manifest"]}
        rows={props.objects.flatMap((one) => {
          const paths = props.of(one) ?? [];
          const shown: Array<Partial<PlacedDifference>> = paths.length > 0 ? paths : [{}];
          return shown.map((path, i) => [
            i === 0 ? objectName(one) : "",
            i === 0 ? <Time at={props.since(one)} /> : "",
            <code>{path.path ?? "not told"}</code>,
            <code>{path.valueInMember ?? "–"}</code>,
            <code>{path.valueInHub ?? "–"}</code>,
          ]);
        })}
      />
    </>
  );
}

function PlacementPage({ params }: ViewProps) {
  const namespace = params.namespace === "-" ? "" : (params.namespace ?? "");
  const name = params.name ?? "";
  const plural = namespace === "" ? "clusterresourceplacements" : "resourceplacements";
  const data = useData(`placement ${namespace} ${name}`, () => getObject<Placement>("placement", plural, name, namespace), { gap: 3_000 });
  return (
    <>
      <p>
        <Link to="/placements">Placements</Link>
      </p>
      <h1>
        Placement {namespace === "" ? "" : `${namespace}/`}
        {name}
      </h1>
      <Loaded data={data.value} again={data.again}>
        {(one) => {
          const trouble = troubleOf(one);
          const statuses = one.status?.placementStatuses ?? [];
          const selected = one.status?.selectedResources ?? [];
          const not = statuses.filter((status) => !status.clusterName);
          const bad = trouble.failed + trouble.drifted + trouble.differ > 0;
          return (
            <>
              <Sentence tone={bad ? "bad" : "good"}>
                It places {selected.length} {selected.length === 1 ? "object" : "objects"} on {pickedBy(one).join(", ") || "no member"}; {trouble.failed} failed, {trouble.drifted} drifted, {trouble.differ} differ.
              </Sentence>
              <Facts
                rows={[
                  ["selects", (one.spec?.resourceSelectors ?? []).map((selector) => `${selector.kind} ${selector.name ?? "(all)"}`).join(", ")],
                  ["policy", `${one.spec?.policy?.placementType ?? "PickAll"}${one.spec?.policy?.numberOfClusters !== undefined ? ` ${one.spec.policy.numberOfClusters}` : ""}`],
                  ["revision", one.status?.observedResourceIndex ?? "0"],
                  ["command", <Command text={`muster describe ${namespace === "" ? "crp" : "rp"} ${shellWord(name)}${namespace === "" ? "" : ` -n ${shellWord(namespace)}`}`} />],
                ]}
              />
              {statuses
                .filter((status) => status.clusterName)
                .sort((a, b) => troubleOn(b) - troubleOn(a))
                .map((status) => (
                  <section key={status.clusterName}>
                    <h2>
                      On <Link to={`/members/${encodeURIComponent(status.clusterName)}`}>{status.clusterName}</Link>
                    </h2>
                    <Failures objects={status.failedPlacements ?? []} />
                    <Differences title="Drifted" objects={status.driftedPlacements ?? []} of={(object) => object.observedDrifts} since={(object) => object.firstDriftedObservedTime} />
                    <Differences title="Differ" objects={status.diffedPlacements ?? []} of={(object) => object.observedDiffs} since={(object) => object.firstDiffedObservedTime} />
                    <ConditionList conditions={conditionsInOrder(status.conditions)} />
                  </section>
                ))}
              <h2>On all of them</h2>
              <ConditionList conditions={conditionsInOrder(one.status?.conditions)} />
              {not.length > 0 && (
                <>
                  <h2>Why not on other members</h2>
                  <ul class="plain">
                    {not.flatMap((status, i) =>
                      (status.conditions ?? []).map((condition) => (
                        <li key={`${i} ${condition.type}`}>{condition.message}</li>
                      )),
                    )}
                  </ul>
                </>
              )}
              <h2>Selected</h2>
              {selected.length === 0 ? (
                <p>Nothing matches its selectors now.</p>
              ) : (
                <ul class="plain">
                  {selected.map((object) => (
                    <li key={`${object.group} ${objectName(object)}`}>
                      {objectName(object)}
                      {object.kind === "Job" && object.namespace && (
                        <>
                          {" "}
                          <Link to={`/jobs/${encodeURIComponent(`${object.namespace}/${object.name}`)}`}>as a job</Link>
                        </>
                      )}
                    </li>
                  ))}
                </ul>
              )}
            </>
          );
        }}
      </Loaded>
    </>
  );
}

export const placements: View = {
  path: "/placements",
  title: () => "Placements",
  menu: "Placements",
  key: "l",
  needs: { verb: "list", group: placementGroup, resource: "resourceplacements" },
  show: Placements,
};
export const placement: View = { path: "/placements/:namespace/:name", title: (params) => `Placement ${params.name}`, show: PlacementPage };
