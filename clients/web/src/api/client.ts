// Calls to the daemon's API with the token of this tab, if there is one. A refusal is an Error
// whose message is a sentence, with the verb, the resource and the namespace that were refused.
import { signal } from "@preact/signals";
import { ways, type Answers, type Queries } from "./types";

export type Operation = keyof typeof ways;
type Params = Record<string, string | number>;

const tokenKey = "muster.token";
/** The bearer token of this tab; "" without one. It is kept for the tab alone. */
export const token = signal(sessionStorage.getItem(tokenKey) ?? "");
/** Set when the daemon did not know who asks (401): the page then asks for a token. */
export const unknownCaller = signal("");

export function useToken(value: string): void {
  if (value === "") sessionStorage.removeItem(tokenKey);
  else sessionStorage.setItem(tokenKey, value);
  token.value = value;
  unknownCaller.value = "";
}

export class Refusal extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly verb: string,
    readonly resource: string,
    readonly namespace: string,
    readonly fields: Array<{ field: string; message: string }> = [],
  ) {
    super(message);
  }
}

/** The path of an operation with its parameters filled in. */
export function pathOf(operation: Operation, params: Params = {}, query: object = {}): string {
  const path = ways[operation][1].replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== "" && value !== false) search.set(key, String(value));
  }
  const text = search.toString();
  return text === "" ? path : `${path}?${text}`;
}

export function authHeaders(): Record<string, string> {
  return token.value === "" ? {} : { Authorization: `Bearer ${token.value}` };
}

interface Problem {
  title?: string;
  detail?: string;
  message?: string;
  errors?: Array<{ field: string; message: string }>;
}

/** The refusal that an answer carries. */
export async function refusalOf(operation: Operation, params: Params, answer: Response): Promise<Refusal> {
  const [, , verb, resource] = ways[operation];
  const namespace = String(params.namespace ?? "");
  let problem: Problem = {};
  try {
    problem = (await answer.json()) as Problem;
  } catch {
    // Not every refusal has a body, for example one of a proxy.
  }
  if (answer.status === 401) unknownCaller.value = problem.detail ?? problem.message ?? "the daemon does not know who asks";
  const fields = problem.errors ?? [];
  let text = problem.detail ?? problem.message ?? problem.title ?? `the daemon answered ${answer.status}`;
  // A way whose resource is "{job}" or "{document}" is refused by the sentence alone.
  if (answer.status === 403 && !resource.includes("{") && !text.includes(" " + verb + " ")) {
    text = `${text} (${verb} ${resource}${namespace === "" ? "" : ` in namespace ${namespace}`})`;
  }
  const more = fields.filter((one) => !text.includes(one.message)).map((one) => `${one.field} ${one.message}`);
  return new Refusal([text, ...more].join("; "), answer.status, verb, resource, namespace, fields);
}

export interface Ask {
  body?: unknown;
  /** The media type of a body that is text; JSON otherwise. */
  type?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** The bare answer of an operation. Throws a Refusal, also if nobody answers (status 0). */
export async function ask<O extends Operation>(
  operation: O,
  params: Params = {},
  query: Queries[O] | Record<string, never> = {},
  options: Ask = {},
): Promise<Response> {
  const headers: Record<string, string> = { ...authHeaders(), ...options.headers };
  const init: RequestInit = { method: ways[operation][0], headers, credentials: "same-origin" };
  if (options.signal) init.signal = options.signal;
  if (options.body !== undefined) {
    headers["Content-Type"] = options.type ?? "application/json";
    init.body = options.type ? String(options.body) : JSON.stringify(options.body);
  }
  let answer: Response;
  try {
    answer = await fetch(pathOf(operation, params, query), init);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Refusal("the daemon does not answer", 0, ways[operation][2], ways[operation][3], "");
  }
  if (!answer.ok) throw await refusalOf(operation, params, answer);
  return answer;
}

/** The parsed answer of an operation: JSON, or the text of operations that answer text. */
export async function call<O extends Operation>(
  operation: O,
  params: Params = {},
  query: Queries[O] | Record<string, never> = {},
  options: Ask = {},
): Promise<Answers[O]> {
  const answer = await ask(operation, params, query, options);
  const json = answer.headers.get("Content-Type")?.includes("json");
  return (json ? await answer.json() : await answer.text()) as Answers[O];
}

/** What to tell a person about anything that was thrown. */
export function sentence(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?)]$/.test(text) ? "" : ".");
}
