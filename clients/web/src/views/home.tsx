// Home: what runs and waits of mine, what needs me, and what changed since yesterday.
import { useSignal } from "@preact/signals";
import { Link } from "../app/router";
import { call } from "../api/client";
import { me } from "../api/rights";
import { useData } from "../live/data";
import { briefly } from "../model/messages";
import { adviceOf, changesSince, countsText, type Change, type Mine } from "../model/home";
import { Command, shellWord } from "../parts/command";
import { Sentence, SmallTable } from "../parts/sentence";
import { Empty, Failure, Loaded, State } from "../parts/states";
import { Duration, Time } from "../parts/time";
import { Fleet } from "./home_fleet";
import type { View } from "./view";
import "../style/views.css";

const dayMs = 86_400_000;
const atMost = 2_000;
const shownFirst = 30;
const namedAtMost = 5;
const fields = "id,name,displayName,namespace,queue,state,reason,message,submitTime,admitTime,startTime,endTime";

const JobName = (props: { job: Mine }) => (
  <Link to={`/jobs/${props.job.id}`}>
    {props.job.id} {props.job.namespace}/{props.job.name}
  </Link>
);

// Jobs of which the same is to be said stand together.
function together(jobs: readonly Mine[]): Array<{ advice: string; jobs: Mine[] }> {
  const found = new Map<string, Mine[]>();
  for (const job of jobs) {
    const advice = adviceOf(job);
    if (advice === "") continue;
    const key = `${job.state} ${advice}`;
    const list = found.get(key);
    if (list) list.push(job);
    else found.set(key, [job]);
  }
  const failed = (one: { jobs: Mine[] }) => Number(one.jobs[0]!.state !== "Failed");
  return [...found.values()].map((list) => ({ advice: adviceOf(list[0]!), jobs: list })).sort((a, b) => failed(a) - failed(b));
}

function Needs(props: { jobs: readonly Mine[]; user: string }) {
  const groups = together(props.jobs);
  if (groups.length === 0) return null;
  return (
    <>
      <h2>Needs you</h2>
      <ul class="plain">
        {groups.map(({ advice, jobs }) => {
          const state = jobs[0]!.state;
          return (
            <li key={`${state} ${advice}`} class={`card ${state === "Failed" ? "bad" : "warn"}`}>
              <State state={state} /> {jobs.length > 1 ? `${jobs.length} jobs, of each: ` : ""}
              {advice}
              <ul class="plain">
                {jobs.slice(0, namedAtMost).map((job) => (
                  <li key={job.id}>
                    <JobName job={job} /> <span class="note">{job.message}</span>
                  </li>
                ))}
              </ul>
              {jobs.length > namedAtMost && (
                <Link to={`/jobs?user=${encodeURIComponent(props.user)}&state=${state}`}>
                  and {jobs.length - namedAtMost} more
                </Link>
              )}
            </li>
          );
        })}
      </ul>
    </>
  );
}

const whatSign: Record<Change["what"], string> = {
  submitted: "+", admitted: "◔", started: "▶", succeeded: "✓", failed: "✕", "was cancelled": "⊘", ended: "•",
};

function Mines(props: { user: string }) {
  const changed = useSignal(shownFirst);
  const jobs = useData(
    `home ${props.user}`,
    async () => {
      // Of a whole minute, so that the daemon can go on with the list that it has.
      const since = new Date(Math.floor((Date.now() - dayMs) / 60_000) * 60_000).toISOString();
      const answer = await call("listJobs", {}, { user: props.user, since, sort: "-id", limit: atMost, fields });
      return { items: (answer.items as unknown as Array<Mine & { displayName: string }>).map((job) => ({ ...job, name: job.displayName || job.name })), more: answer.total > answer.items.length };
    },
    { on: (event) => event.job !== 0, gap: 4_000 },
  );
  return (
    <Loaded data={jobs.value} again={jobs.again}>
      {({ items, more }) => {
        // What runs first, then what waits, then what is held; of each the newest first.
        const open = ["Running", "Admitted", "Pending", "Held"].flatMap((state) => items.filter((job) => job.endTime === null && job.state === state));
        const changes = changesSince(items, Date.now() - dayMs);
        const count = (what: Change["what"]) => changes.filter((one) => one.what === what).length;
        const failed = count("failed");
        if (items.length === 0) {
          return (
            <Empty>
              <p>You have no jobs, and none ended since yesterday.</p>
              <p>
                <Link to="/submit">Submit one</Link>, or look at <Link to="/jobs">the jobs of everybody</Link>.
              </p>
            </Empty>
          );
        }
        return (
          <>
            <Sentence tone={failed > 0 ? "bad" : "good"}>
              {open.length === 0 ? "None of your jobs is open" : `Of your jobs ${countsText(open)}`}. Since yesterday {count("succeeded")} succeeded,{" "}
              {failed} failed, {count("was cancelled")} {count("was cancelled") === 1 ? "was" : "were"} cancelled.
            </Sentence>
            {more && <p class="note">These are the newest {atMost} of your jobs. <Link to={`/jobs?user=${encodeURIComponent(props.user)}`}>See all of them.</Link></p>}
            <Needs jobs={items} user={props.user} />
            <h2>Mine</h2>
            {open.length === 0 ? (
              <p>
                Nothing runs or waits. <Link to="/submit">Submit a job.</Link>
              </p>
            ) : (
              <SmallTable
                label="My open jobs"
                head={["Job", "State", "For", "Why"]}
                rows={open.slice(0, shownFirst).map((job) => [<JobName job={job} />, <State state={job.state} />, <Duration from={job.startTime ?? job.submitTime} />, briefly(job.message) || job.reason])}
              />
            )}
            {open.length > shownFirst && (
              <p>
                <Link to={`/jobs?user=${encodeURIComponent(props.user)}`}>All {open.length} of them</Link>
              </p>
            )}
            <h2>Since yesterday</h2>
            {changes.length === 0 && <p>Nothing changed.</p>}
            {changes.length > 0 && (
              <SmallTable
                label="Changes since yesterday"
                head={["When", "Job", "What"]}
                rows={changes.slice(0, changed.value).map((one) => [
                  <Time at={one.at} />,
                  <JobName job={one.job} />,
                  <span>
                    <span aria-hidden="true">{whatSign[one.what]} </span>
                    {one.what}
                    {one.what === "failed" && one.job.message !== "" ? `: ${one.job.message}` : ""}
                  </span>,
                ])}
              />
            )}
            {changes.length > changed.value && (
              <button type="button" onClick={() => (changed.value += 200)}>
                Show more of {changes.length}
              </button>
            )}
            <p>
              <Command text={`muster get jobs -A --user ${shellWord(props.user)}`} />
            </p>
          </>
        );
      }}
    </Loaded>
  );
}

function Home() {
  const user = me.value?.user;
  return (
    <>
      <h1>{user === undefined ? "Home" : `Home of ${user}`}</h1>
      {user === undefined ? <Failure text="The daemon has not said who you are. Sign in to see your jobs." /> : <Mines user={user} />}
      <Fleet />
    </>
  );
}

export const home: View = { path: "/home", title: () => "Home", menu: "Home", key: "h", show: Home };
