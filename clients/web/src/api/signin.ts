// Signing in at an OpenID Connect provider by the authorization code grant with PKCE (RFC 7636),
// as a public client. The id token is what the daemon gets; it is kept for this tab alone.
import { useToken } from "./client";

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

async function discover(provider: SignInProvider): Promise<{ authorization_endpoint: string; token_endpoint: string }> {
  const answer = await fetch(`${provider.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, { credentials: "omit" });
  if (!answer.ok) throw new Error(`${provider.issuer} answered ${answer.status}`);
  const found = (await answer.json()) as { issuer: string; authorization_endpoint: string; token_endpoint: string };
  if (found.issuer !== provider.issuer) throw new Error(`${provider.issuer} says that it is ${found.issuer}`);
  return found;
}

/** Leaves for the provider's page; `back` is the path below /ui to come back to. */
export async function begin(provider: SignInProvider, back: string): Promise<void> {
  const { authorization_endpoint } = await discover(provider);
  const under: Under = { provider, verifier: random(), state: random(), nonce: random(), back };
  sessionStorage.setItem(underWayKey, JSON.stringify(under));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(under.verifier));
  const to = new URL(authorization_endpoint);
  if (to.protocol !== "https:" && to.protocol !== "http:") throw new Error(`${provider.issuer} names an address that is no web page`);
  const asked = {
    response_type: "code",
    client_id: provider.client,
    redirect_uri: redirect(),
    scope: "openid profile groups",
    state: under.state,
    nonce: under.nonce,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
  };
  for (const [key, value] of Object.entries(asked)) to.searchParams.set(key, value);
  location.assign(to);
}

// The nonce of an id token. Its signature is the daemon's to check.
function nonceOf(token: string): string {
  const payload = token.split(".")[1] ?? "";
  const text = atob(payload.replaceAll("-", "+").replaceAll("_", "/"));
  return (JSON.parse(text) as { nonce?: string }).nonce ?? "";
}

/** Ends a sign-in with what the provider added to the address; the path to go back to. */
export async function finish(answer: URLSearchParams): Promise<string> {
  const under = JSON.parse(sessionStorage.getItem(underWayKey) ?? "null") as Under | null;
  sessionStorage.removeItem(underWayKey);
  if (!under || answer.get("state") !== under.state) throw new Error("no sign-in of this tab is under way: begin anew");
  const refused = answer.get("error");
  if (refused) throw new Error(`${under.provider.name} refused: ${answer.get("error_description") ?? refused}`);
  const { token_endpoint } = await discover(under.provider);
  const sent = await fetch(token_endpoint, {
    method: "POST",
    credentials: "omit",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code: answer.get("code") ?? "",
      redirect_uri: redirect(),
      client_id: under.provider.client,
      code_verifier: under.verifier,
    }),
  });
  const tokens = (await sent.json()) as { id_token?: string; error?: string; error_description?: string };
  if (!sent.ok || !tokens.id_token) throw new Error(`${under.provider.name} gives no token: ${tokens.error_description ?? tokens.error ?? sent.status}`);
  if (nonceOf(tokens.id_token) !== under.nonce) throw new Error(`the token of ${under.provider.name} is of another sign-in`);
  useToken(tokens.id_token);
  return under.back;
}
