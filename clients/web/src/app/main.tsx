import { render } from "preact";
import { keepSignedIn } from "../api/signin";
import { startFeed } from "../live/feed";
import "../style/style.css";
import { startKeys } from "./keys";
import { Shell } from "./shell";

startKeys();
startFeed();
keepSignedIn();
render(<Shell />, document.getElementById("app")!);
