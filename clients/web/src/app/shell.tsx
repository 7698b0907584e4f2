// The frame around every view: menu, jump box, live mark, time zone, sign-in.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { call, sentence, token, unknownCaller, useToken } from "../api/client";
import { may, me, readMe } from "../api/rights";
import { begin, providers, type SignInProvider } from "../api/signin";
import { heardAt, liveState, paused, trouble } from "../live/feed";
import { Dialog } from "../parts/dialog";
import { Field, Form } from "../parts/form";
import { Empty, Failure } from "../parts/states";
import { now, setUtc, timeText, utc } from "../parts/time";
import { views } from "../views";
import type { View } from "../views/view";
import { addKeys, keys } from "./keys";
import { go, Link, matches, path, query } from "./router";

const helpOpen = signal(false);
const jumpOpen = signal(false);
const signInOpen = signal(false);

interface Found {
  view: View;
  params: Record<string, string>;
}

function found(): Found | null {
  const at = path.value;
  if (at === "/") return { view: views[0]!, params: {} };
  for (const view of views) {
    const params = matches(view.path, at);
    if (params) return { view, params };
  }
  return null;
}

function LiveMark() {
  const state = liveState.value;
  const since = heardAt.value === 0 ? "" : ` since ${timeText(new Date(heardAt.value), utc.value)}`;
  const text = { live: "live", connecting: "connecting", stale: `stale${since}`, paused: "paused" }[state];
  void now.value;
  return (
    <span class={`live live-${state}`}>
      <span role="status" title={trouble.value}>
        <span aria-hidden="true">{{ live: "●", connecting: "○", stale: "▲", paused: "‖" }[state]} </span>
        {text}
      </span>
      <button type="button" class="quiet" aria-pressed={paused.value} onClick={() => (paused.value = !paused.value)}>
        {paused.value ? "Go on" : "Pause"}
      </button>
    </span>
  );
}

// The view of one queue belongs to that of all queues.
const belongs = (menu: View, current: View | null) => current !== null && current.path.startsWith(`${menu.path}/`);

function Menu(props: { current: View | null }) {
  const list = useRef<HTMLUListElement>(null);
  // In a narrow window the menu is one line that scrolls.
  useEffect(() => list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }), [props.current]);
  return (
    <nav aria-label="Views">
      <ul ref={list}>
        {views
          .filter((view) => view.menu !== undefined && (!view.needs || may(view.needs).value !== false))
          .map((view) => (
            <li key={view.path}>
              <Link to={view.path} aria-current={view === props.current ? "page" : belongs(view, props.current) ? "true" : undefined}>
                {view.menu}
              </Link>
            </li>
          ))}
      </ul>
    </nav>
  );
}

interface Target {
  to: string;
  text: string;
}

// Where a text that was typed into the jump box can lead: views by their name, and a job.
function targetsOf(text: string): Target[] {
  const low = text.toLowerCase();
  const named = views
    .filter((view) => view.menu !== undefined && view.menu.toLowerCase().includes(low))
    .map((view) => ({ to: view.path, text: view.menu! }));
  if (text === "" || !views.some((view) => view.path === "/jobs/:id")) return named;
  const job = /^\d+$|^[0-9a-f]{8}-[0-9a-f-]{27}$|^[^/\s]+\/[^/\s]+$/.test(text);
  return [
    ...(job ? [{ to: `/jobs/${encodeURIComponent(text)}`, text: `Job ${text}` }] : []),
    // Whatever is looked for may have ended long ago.
    { to: `/jobs?search=${encodeURIComponent(text)}&since=all`, text: `Jobs that match “${text}”` },
    ...named,
  ];
}

function Jump() {
  const text = useSignal("");
  const at = useSignal(0);
  const targets = targetsOf(text.value.trim());
  const close = () => (jumpOpen.value = false);
  const take = (target: Target | undefined) => {
    if (!target) return;
    close();
    go(target.to);
  };
  const press = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) at.value = Math.max(0, Math.min(targets.length - 1, at.value + step));
    else if (event.key === "Enter") take(targets[at.value]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" close={close}>
      <input
        class="jump"
        role="combobox"
        aria-label="A view, or a job's number, name, uid, pod or array task"
        placeholder="number, name, uid, pod, array task, view"
        aria-expanded={true}
        aria-controls="jump-list"
        aria-activedescendant={targets.length > 0 ? `jump-${at.value}` : undefined}
        value={text.value}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => {
          text.value = event.currentTarget.value;
          at.value = 0;
        }}
        onKeyDown={press}
      />
      <ul id="jump-list" role="listbox" aria-label="Places">
        {targets.map((target, index) => (
          <li key={target.to} id={`jump-${index}`} role="option" aria-selected={index === at.value} onClick={() => take(target)}>
            {target.text}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function Help() {
  return (
    <Dialog title="Keys" close={() => (helpOpen.value = false)}>
      <dl class="keys">
        {keys.value.map((one) => (
          <div key={one.keys + one.what}>
            <dt>
              {one.keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{one.what}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>↑</kbd>
            <kbd>↓</kbd>
            <kbd>Enter</kbd>
            <kbd>Space</kbd>
          </dt>
          <dd>In a table: move, open, select</dd>
        </div>
      </dl>
    </Dialog>
  );
}

function SignIn() {
  const value = useSignal("");
  const known = useSignal<readonly SignInProvider[]>([]);
  const trouble = useSignal("");
  useEffect(() => void providers().then((found) => (known.value = found)), []);
  const leave = async (provider: SignInProvider) => {
    trouble.value = "";
    try {
      const search = query.peek().toString();
      await begin(provider, path.peek() + (search === "" ? "" : `?${search}`));
    } catch (error) {
      trouble.value = sentence(error);
    }
  };
  const send = async () => {
    const before = token.value;
    useToken(value.value.trim());
    try {
      me.value = await call("whoAmI");
      signInOpen.value = false;
    } catch (error) {
      useToken(before);
      throw error;
    }
  };
  return (
    <Dialog title="Sign in" close={() => (signInOpen.value = false)}>
      {unknownCaller.value !== "" && <p>{sentence(unknownCaller.value)}</p>}
      {known.value.map((provider) => (
        <p key={provider.name}>
          <button type="button" class="main" onClick={() => leave(provider)}>
            Sign in at {provider.name}
          </button>
        </p>
      ))}
      {trouble.value !== "" && <Failure text={trouble.value} />}
      <Form action="Sign in" send={send}>
        <Field
          label="Token"
          type="password"
          value={value.value}
          set={(text) => (value.value = text)}
          required
          hint="An access token (muster token create), or one of your identity provider. It is kept for this tab alone."
        />
      </Form>
    </Dialog>
  );
}

function Person() {
  if (me.value) {
    return (
      <Link to="/me" class="person" title={me.value.groups.join(", ")}>
        {me.value.user}
      </Link>
    );
  }
  return (
    <button type="button" onClick={() => (signInOpen.value = true)}>
      Sign in
    </button>
  );
}

function useGlobalKeys() {
  useEffect(
    () =>
      addKeys([
        { keys: "?", what: "This list", run: () => (helpOpen.value = true) },
        { keys: "/", what: "Go to a job or a view", run: () => (jumpOpen.value = true) },
        { keys: "p", what: "Pause, or go on", run: () => (paused.value = !paused.value) },
        { keys: "u", what: "Local time or UTC", run: () => setUtc(!utc.value) },
        ...views
          .filter((view) => view.key !== undefined)
          .map((view) => ({ keys: `g ${view.key}`, what: view.menu ?? view.title({}), run: () => go(view.path) })),
      ]),
    [],
  );
}

export function Shell() {
  useGlobalKeys();
  const at = found();
  const title = at ? at.view.title(at.params) : "Not found";
  useEffect(() => void readMe(), [token.value]);
  useEffect(() => {
    document.title = `${title} – Muster`;
  }, [title]);
  useEffect(() => {
    if (unknownCaller.value !== "") signInOpen.value = true;
  }, [unknownCaller.value]);
  // Who reads by keys or by ear goes on in the view that was just opened, not at the menu. At once: later it would take the focus from
  // what they have gone on to.
  const opened = useRef(path.peek());
  useLayoutEffect(() => {
    if (opened.current === path.value) return;
    opened.current = path.value;
    document.getElementById("main")?.focus({ preventScroll: true });
  }, [path.value]);
  const Show = at?.view.show;
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <Link to="/" class="brand">
          Muster
        </Link>
        <Menu current={at?.view ?? null} />
        <div class="tools">
          <button type="button" class="jump-button" onClick={() => (jumpOpen.value = true)}>
            Go to <kbd>/</kbd>
          </button>
          <LiveMark />
          <button type="button" class="quiet" aria-label={utc.value ? "Times are UTC; show local times" : "Times are local; show UTC"} onClick={() => setUtc(!utc.value)}>
            {utc.value ? "UTC" : "local"}
          </button>
          <button type="button" class="quiet" aria-label="Keys" onClick={() => (helpOpen.value = true)}>
            ?
          </button>
          <Person />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {unknownCaller.value !== "" && (
          <div class="failure" role="alert">
            {sentence(unknownCaller.value)}{" "}
            <button type="button" onClick={() => (signInOpen.value = true)}>
              Sign in
            </button>
          </div>
        )}
        {unknownCaller.value === "" && trouble.value !== "" && liveState.value === "stale" && <Failure text={trouble.value} />}
        {at && Show ? (
          <Show key={path.value + (at.params.id ?? "")} params={at.params} />
        ) : (
          <Empty>
            <h1>There is nothing here</h1>
            <p>
              No view has the address {path.value}. <Link to="/">Go to the first one</Link>, or press <kbd>/</kbd> and type a job.
            </p>
          </Empty>
        )}
      </main>
      {helpOpen.value && <Help />}
      {jumpOpen.value && <Jump />}
      {signInOpen.value && <SignIn />}
    </>
  );
}
