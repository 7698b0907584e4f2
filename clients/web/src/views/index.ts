// All views, in the order of the menu. The first one is shown at /ui/.
import { home } from "./home";
import { me } from "./me";
import { member } from "./member";
import { members } from "./members";
import { placement, placements } from "./placements";
import { queue } from "./queue";
import { queues } from "./queues";
import type { View } from "./view";

export const views: readonly View[] = [home, queues, queue, members, member, placements, placement, me];
