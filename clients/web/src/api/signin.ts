// Signing in at an OpenID Connect provider by the authorization code grant with PKCE (RFC 7636),
// as a public client. The id token is what the daemon gets; it is kept for this tab alone. If the
// provider gives a refresh token, the id token is renewed before it ends, for as long as the page is open.
import { effect } from "@preact/signals";
import { token, useToken } from "./client";

export interface SignInProvider {
  name: string;
  issuer: string;
  client: string;
}

interface Under {
  provider: SignInProvider;
  verifier: string;
  state: string;
  nonce: string;
  back: string;
}

const underWayKey = "muster.signin";
const redirect = () => `${location.origin}/ui/signed-in`;

/** The providers that the daemon knows of; none if it does not say. */
export async function providers(): Promise<SignInProvider[]> {
  try {
    const answer = await fetch("/ui/providers");
    return answer.ok ? ((await answer.json()) as { items: SignInProvider[] }).items : [];
  } catch {
    return [];
  }
}

const base64url = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

interface Discovered {
  issuer: string;
  authorization_endpoint: string;
  token_endpoint: string;
  scopes_supported?: string[];
}

async function discover(provider: SignInProvider): Promise<Discovered> {
  const answer = await fetch(`${provider.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, { credentials: "omit" });
  if (!answer.ok) throw new Error(`${provider.issuer} answered ${answer.status}`);
  const found = (await answer.json()) as Discovered;
  if (found.issuer !== provider.issuer) throw new Error(`${provider.issuer} says that it is ${found.issuer}`);
  return found;
}

/** Leaves for the provider's page; `back` is the path below /ui to come back to. */
export async function begin(provider: SignInProvider, back: string): Promise<void> {
  const { authorization_endpoint, scopes_supported } = await discover(provider);
  // A provider that gives refresh tokens for this scope wants the person asked for it.
  const stays = scopes_supported?.includes("offline_access") === true;
  const under: Under = { provider, verifier: random(), state: random(), nonce: random(), back };
  sessionStorage.setItem(underWayKey, JSON.stringify(under));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(under.verifier));
  const to = new URL(authorization_endpoint);
  if (to.protocol !== "https:" && to.protocol !== "http:") throw new Error(`${provider.issuer} names an address that is no web page`);
  const asked = {
    response_type: "code",
    client_id: provider.client,
    redirect_uri: redirect(),
    scope: `openid profile groups${stays ? " offline_access" : ""}`,
    ...(stays ? { prompt: "consent" } : {}),
    state: under.state,
    nonce: under.nonce,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
  };
  for (const [key, value] of Object.entries(asked)) to.searchParams.set(key, value);
  location.assign(to);
}

interface Claims {
  nonce?: string;
  exp?: number;
  iat?: number;
}

// What an id token says. Its signature is the daemon's to check.
function claimsOf(token: string): Claims {
  const payload = token.split(".")[1] ?? "";
  return JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/"))) as Claims;
}

interface Tokens {
  id_token?: string;
  refresh_token?: string;
  error?: string;
  error_description?: string;
}

async function tokensFor(provider: SignInProvider, asked: Record<string, string>): Promise<Tokens & { id_token: string }> {
  const { token_endpoint } = await discover(provider);
  const sent = await fetch(token_endpoint, { method: "POST", credentials: "omit", body: new URLSearchParams({ client_id: provider.client, ...asked }) });
  const tokens = (await sent.json()) as Tokens;
  if (!sent.ok || !tokens.id_token) throw new Error(`${provider.name} gives no token: ${tokens.error_description ?? tokens.error ?? sent.status}`);
  return { ...tokens, id_token: tokens.id_token };
}

/** Ends a sign-in with what the provider added to the address; the path to go back to. */
export async function finish(answer: URLSearchParams): Promise<string> {
  const under = JSON.parse(sessionStorage.getItem(underWayKey) ?? "null") as Under | null;
  sessionStorage.removeItem(underWayKey);
  if (!under || answer.get("state") !== under.state) throw new Error("no sign-in of this tab is under way: begin anew");
  const refused = answer.get("error");
  if (refused) throw new Error(`${under.provider.name} refused: ${answer.get("error_description") ?? refused}`);
  const tokens = await tokensFor(under.provider, {
    grant_type: "authorization_code",
    code: answer.get("code") ?? "",
    redirect_uri: redirect(),
    code_verifier: under.verifier,
  });
  if (claimsOf(tokens.id_token).nonce !== under.nonce) throw new Error(`the token of ${under.provider.name} is of another sign-in`);
  keep(under.provider, tokens);
  return under.back;
}

interface Renewal {
  provider: SignInProvider;
  refresh: string;
  /** The token that it renews: another one came from elsewhere. */
  of: string;
}
const renewalKey = "muster.renewal";

function keep(provider: SignInProvider, tokens: { id_token: string; refresh_token?: string }): void {
  if (tokens.refresh_token) sessionStorage.setItem(renewalKey, JSON.stringify({ provider, refresh: tokens.refresh_token, of: tokens.id_token } satisfies Renewal));
  else sessionStorage.removeItem(renewalKey);
  useToken(tokens.id_token);
}

const aheadMs = 60_000;
const retryMs = 10_000;

/** Renews the token of this tab before it ends, as long as its provider does. */
export function keepSignedIn(): void {
  let timer = 0;
  const renew = async (renewal: Renewal) => {
    try {
      // A provider may give a new refresh token with each use, or let the old one stay.
      const tokens = await tokensFor(renewal.provider, { grant_type: "refresh_token", refresh_token: renewal.refresh });
      keep(renewal.provider, { refresh_token: renewal.refresh, ...tokens });
    } catch (error) {
      // A line that is down comes back; what the provider refuses it refuses again, and the daemon then asks to sign in.
      if (error instanceof TypeError) timer = window.setTimeout(() => void renew(renewal), retryMs);
      else sessionStorage.removeItem(renewalKey);
    }
  };
  effect(() => {
    clearTimeout(timer);
    const now = token.value;
    const renewal = JSON.parse(sessionStorage.getItem(renewalKey) ?? "null") as Renewal | null;
    if (!renewal || renewal.of !== now) return;
    const { exp, iat } = claimsOf(renewal.of);
    if (exp === undefined) return;
    const life = (exp - (iat ?? exp)) * 1_000;
    // A timer longer than that would run at once.
    const wait = Math.min(exp * 1_000 - Date.now() - Math.min(aheadMs, life / 4), 2 ** 31 - 1);
    timer = window.setTimeout(() => void renew(renewal), Math.max(0, wait));
  });
}
