// All views, in the order of the menu. The first one is shown at /ui/.
import { me } from "./me";
import type { View } from "./view";

export const views: readonly View[] = [me];
