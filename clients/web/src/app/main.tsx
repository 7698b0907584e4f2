import { render } from "preact";
import { startFeed } from "../live/feed";
import "../style/style.css";
import { startKeys } from "./keys";
import { Shell } from "./shell";

startKeys();
startFeed();
render(<Shell />, document.getElementById("app")!);
