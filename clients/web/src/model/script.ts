// What was pasted: a batch script, or manifests. Pure.
export type Pasted = "nothing" | "script" | "manifest" | "manifests";

/** A script begins with a shebang; several documents are divided by lines of "---", or a JSON list. */
export function kindOf(text: string): Pasted {
  const trimmed = text.trim();
  if (trimmed === "") return "nothing";
  if (trimmed.startsWith("#!")) return "script";
  if (trimmed.startsWith("[")) return "manifests";
  if (trimmed.startsWith("{")) return "manifest";
  const documents = trimmed
    .split(/^---(?:[ \t].*)?$/m)
    .filter((part) => part.split("\n").some((line) => line.trim() !== "" && !line.trim().startsWith("#")));
  if (documents.length > 1) return "manifests";
  return /^items:/m.test(trimmed) && /^kind:\s*\w*List\s*$/m.test(trimmed) ? "manifests" : "manifest";
}
