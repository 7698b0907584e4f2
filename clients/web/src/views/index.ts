// All views, in the order of the menu. The first one is shown at /ui/.
import { job } from "./job";
import { jobs } from "./jobs";
import { me } from "./me";
import { signedIn } from "./signed_in";
import type { View } from "./view";

export const views: readonly View[] = [jobs, job, me, signedIn];
