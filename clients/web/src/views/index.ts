// All views, in the order of the menu. The first one is shown at /ui/.
import { audit } from "./audit";
import { history } from "./history";
import { home } from "./home";
import { job } from "./job";
import { jobs } from "./jobs";
import { me } from "./me";
import { member } from "./member";
import { members } from "./members";
import { placement, placements } from "./placements";
import { queue } from "./queue";
import { queues } from "./queues";
import { signedIn } from "./signed_in";
import { simulate } from "./simulate";
import { submit } from "./submit";
import type { View } from "./view";

export const views: readonly View[] = [home, jobs, job, submit, queues, queue, members, member, placements, placement, history, simulate, audit, me, signedIn];
