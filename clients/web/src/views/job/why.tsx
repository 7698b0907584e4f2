// Why a job waits or is where it is: the daemon's sentence first, then its numbers.
import type { ComponentChildren } from "preact";
import type { Explanation, JobMention } from "../../api/types";
import { Link } from "../../app/router";
import { readable } from "../../model/quantity";
import { Facts, Sentence, SmallTable } from "../../parts/sentence";
import { Duration, Said, Time } from "../../parts/time";

function Mention(props: { job: JobMention }) {
  const { job } = props;
  return (
    <span>
      <Link to={`/jobs/${job.id}`}>{job.id}</Link> {job.namespace}/{job.name}
    </span>
  );
}

function Mentions(props: { jobs: readonly JobMention[] }) {
  return (
    <ul class="brief">
      {props.jobs.map((job) => (
        <li key={job.id}>
          <Mention job={job} /> {job.priority !== 0 && <span class="faint">priority {job.priority}</span>}
        </li>
      ))}
    </ul>
  );
}

function startOf(why: Explanation): ComponentChildren {
  const start = why.estimatedStart;
  if (!start) return null;
  return (
    <>
      {start.latest ? (
        <>
          at the latest <Time at={start.latest} />
        </>
      ) : (
        ""
      )}
      {start.latest ? " – " : ""}
      <Said text={start.text} />
    </>
  );
}

// What a job holds itself is not counted against it.
function WithoutIt(props: { why: Explanation }) {
  const holds = props.why.state === "Admitted" || props.why.state === "Running";
  return holds ? <p class="faint">Without what this job holds itself.</p> : null;
}

function Flavors(props: { why: Explanation }) {
  if (props.why.flavors.length === 0) return null;
  // What keeps it waiting first, then what the job holds or would get.
  const misses = (one: Explanation["flavors"][number]) => (one.missing && one.missing !== "0" ? 3 : one.limit ? 2 : one.chosen ? 1 : 0);
  const amount = (text: string, resource: string) => (text ? <span class="num" title={text}>{readable(text, resource)}</span> : "");
  const rows = [...props.why.flavors].sort((a, b) => misses(b) - misses(a));
  return (
    <>
      <h2>Quota, by flavor</h2>
      <WithoutIt why={props.why} />
      <SmallTable
        label="Quota by flavor"
        head={["Pod set", "Flavor", "Resource", "Asked", "Available", "Missing", "Used", "Nominal", "What it means"]}
        rows={rows.map((one) => [
          one.podSet,
          one.chosen ? <b>{one.flavor} (chosen)</b> : one.flavor,
          one.resource || "all",
          amount(one.requested, one.resource),
          amount(one.available, one.resource),
          one.missing && one.missing !== "0" ? <b class="wrong">{amount(one.missing, one.resource)}</b> : amount(one.missing, one.resource),
          amount(one.used, one.resource),
          amount(one.nominal, one.resource),
          [one.message || one.reason, one.limit && `limit at ${one.limit}`].filter(Boolean).join("; "),
        ])}
      />
    </>
  );
}

function Members(props: { why: Explanation }) {
  if (props.why.clusters.length === 0) return null;
  return (
    <>
      <h2>Members</h2>
      <WithoutIt why={props.why} />
      <SmallTable
        label="Members"
        head={["Member", "Could hold it", "Fits now", "Turned away by", "What it means"]}
        rows={props.why.clusters.map((one) => [
          one.cluster,
          one.eligible ? "✓ yes" : "✕ no",
          one.fitsNow ? "✓ yes" : "✕ no",
          one.filter || "nothing",
          one.message,
        ])}
      />
    </>
  );
}

function Preemption(props: { why: Explanation }) {
  const found = props.why.preemption;
  if (!found) return null;
  return (
    <>
      <h2>Who would have to go</h2>
      <p>
        {found.outcome} {found.policies && <span class="faint">({found.policies})</span>}
      </p>
      {found.victims.length > 0 && <Mentions jobs={found.victims} />}
      {found.heldBy.length > 0 && (
        <SmallTable
          label="Who holds the quota"
          head={["ClusterQueue", "Holds", "Workloads", "May be preempted", "Verdict"]}
          rows={found.heldBy.map((one) => [
            one.own ? `${one.clusterQueue} (its own)` : one.clusterQueue,
            Object.entries(one.amounts)
              .map(([name, amount]) => `${amount} ${name}`)
              .join(", "),
            one.workloads,
            one.allowed,
            one.verdict,
          ])}
        />
      )}
      {found.wouldAllow.length > 0 && (
        <ul>
          {found.wouldAllow.map((one) => (
            <li key={one}>{one}</li>
          ))}
        </ul>
      )}
    </>
  );
}

const tones: Record<string, "good" | "bad" | "wait"> = { Succeeded: "good", Running: "good", Failed: "bad", Pending: "wait", Held: "wait", Admitted: "good" };

export function Why(props: { why: Explanation }) {
  const { why } = props;
  const tone = tones[why.state];
  return (
    <section aria-label="Why">
      <Sentence {...(tone ? { tone } : {})}><Said text={why.summary.charAt(0).toUpperCase() + why.summary.slice(1)} /></Sentence>
      {why.message && why.message !== why.summary && <p><Said text={why.message} /></p>}
      {why.facts.length > 0 && (
        <ul>
          {why.facts.map((one) => (
            <li key={one}>
              <Said text={one} />
            </li>
          ))}
        </ul>
      )}
      <Facts
        rows={[
          why.position > 0 && ["position", `${why.position} of ${why.waiting} in its ClusterQueue, ${why.localPosition} of ${why.localWaiting} in its queue`],
          why.estimatedStart !== null && ["start", startOf(why)],
          why.blockedBy !== null && ["blocked by", <Mention job={why.blockedBy} />],
        ]}
      />
      {why.wouldHelp.length > 0 && (
        <>
          <h2>What would help</h2>
          <ul>
            {why.wouldHelp.map((one) => (
              <li key={one}>
                <Said text={one} />
              </li>
            ))}
          </ul>
        </>
      )}
      {why.ahead.length > 0 && (
        <>
          <h2>Ahead of it</h2>
          <Mentions jobs={why.ahead} />
        </>
      )}
      <Flavors why={why} />
      <Members why={why} />
      <Preemption why={why} />
      {why.estimatedStart && (why.estimatedStart.assumptions.length > 0 || why.estimatedStart.withoutLimit.length > 0) && (
        <details>
          <summary>What the start is reckoned from</summary>
          <ul>
            {why.estimatedStart.assumptions.map((one) => (
              <li key={one}>
                <Said text={one} />
              </li>
            ))}
          </ul>
          {why.estimatedStart.withoutLimit.length > 0 && (
            <>
              <p>These jobs declare no time limit:</p>
              <Mentions jobs={why.estimatedStart.withoutLimit} />
            </>
          )}
        </details>
      )}
      <p class="faint">
        True of <Time at={why.time} />, <Duration from={why.time} /> ago.
      </p>
    </section>
  );
}
