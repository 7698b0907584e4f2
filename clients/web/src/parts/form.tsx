// Fields with their labels, and a form that says what became of it.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { sentence } from "../api/client";

interface FieldProps {
  label: string;
  value: string;
  set: (value: string) => void;
  hint?: string;
  /** What is wrong with the value; "" if nothing is. */
  wrong?: string;
  type?: "text" | "password" | "number" | "search";
  lines?: number;
  required?: boolean;
  list?: readonly string[];
}

let numbers = 0;

export function Field(props: FieldProps) {
  const id = useSignal(`field-${++numbers}`).value;
  const notes = [props.hint ? `${id}-hint` : "", props.wrong ? `${id}-wrong` : ""].filter((one) => one !== "").join(" ");
  const common = {
    id,
    required: props.required ?? false,
    "aria-invalid": props.wrong ? true : false,
    ...(notes === "" ? {} : { "aria-describedby": notes }),
    spellcheck: false,
    autocomplete: "off" as const,
    autocapitalize: "off" as const,
  };
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      {props.lines ? (
        <textarea {...common} rows={props.lines} value={props.value} onInput={(event) => props.set(event.currentTarget.value)} />
      ) : (
        <input
          {...common}
          type={(props.type ?? "text") as "text"}
          value={props.value}
          {...(props.list ? { list: `${id}-list` } : {})}
          onInput={(event) => props.set(event.currentTarget.value)}
        />
      )}
      {props.list && (
        <datalist id={`${id}-list`}>
          {props.list.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
      {props.hint && <small id={`${id}-hint`}>{props.hint}</small>}
      {props.wrong && (
        <small id={`${id}-wrong`} class="wrong">
          {props.wrong}
        </small>
      )}
    </div>
  );
}

export function Choice(props: { label: string; value: string; set: (value: string) => void; options: ReadonlyArray<readonly [string, string]> }) {
  const id = useSignal(`field-${++numbers}`).value;
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <select id={id} value={props.value} onChange={(event) => props.set(event.currentTarget.value)}>
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

export function Check(props: { label: string; on: boolean; set: (on: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={props.on} onChange={(event) => props.set(event.currentTarget.checked)} /> {props.label}
    </label>
  );
}

/** The end of a row of filters: reads anew what no event makes old. */
export function ReadAgain(props: { again: () => void }) {
  return (
    <div class="field">
      <button type="button" onClick={props.again}>
        Read again
      </button>
    </div>
  );
}

/** A form that waits for `send` and shows why it failed. */
export function Form(props: { send: () => Promise<void>; action: string; children: ComponentChildren; disabled?: boolean }) {
  const busy = useSignal(false);
  const error = useSignal("");
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy.value) return;
    busy.value = true;
    error.value = "";
    try {
      await props.send();
    } catch (wrong) {
      error.value = sentence(wrong);
    }
    busy.value = false;
  };
  return (
    <form onSubmit={submit}>
      {props.children}
      {error.value !== "" && (
        <p class="failure" role="alert">
          {error.value}
        </p>
      )}
      {/* A button that is disabled while it works would lose the focus. */}
      <button type="submit" class="main" aria-disabled={busy.value} disabled={props.disabled ?? false}>
        {busy.value ? "Working …" : props.action}
      </button>
    </form>
  );
}
