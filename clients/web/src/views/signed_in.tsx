// Where a provider sends its user back to: the sign-in is ended, and the page goes where it was.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { sentence } from "../api/client";
import { finish } from "../api/signin";
import { go, query } from "../app/router";
import { Failure } from "../parts/states";
import type { View } from "./view";

function SignedIn() {
  const error = useSignal("");
  useEffect(() => {
    const answer = query.peek();
    // The code is good once, and has no place in the history of the browser.
    history.replaceState(null, "", "/ui/signed-in");
    finish(answer).then(
      (back) => go(back, true),
      (wrong: unknown) => (error.value = sentence(wrong)),
    );
  }, []);
  return (
    <>
      <h1>Signing in</h1>
      {error.value === "" ? <p role="status">One moment …</p> : <Failure text={error.value} />}
    </>
  );
}

export const signedIn: View = { path: "/signed-in", title: () => "Signing in", show: SignedIn };
