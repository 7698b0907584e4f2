// Writes src/api/types.ts out of the OpenAPI document of the daemon: an interface for each schema,
// and for each operation its way, its right, its query and its answer.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

const source = fileURLToPath(new URL("../../../api/openapi/muster.v1.yaml", import.meta.url));
const target = fileURLToPath(new URL("../src/api/types.ts", import.meta.url));
const document = parse(readFileSync(source, "utf8"));

const nameOf = (ref) => ref.slice(ref.lastIndexOf("/") + 1);
const resolve = (thing) => (thing.$ref ? document.components.parameters[nameOf(thing.$ref)] : thing);
const keyOf = (key) => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(key) ? key : JSON.stringify(key));

// A schema as a type. Fields are optional only where the document lists required ones beside them.
function typeOf(schema) {
  if (!schema || Object.keys(schema).length === 0) return "unknown";
  const bare = bareType(schema);
  return schema.nullable ? `${bare} | null` : bare;
}
function bareType(schema) {
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.allOf) return schema.allOf.map(typeOf).join(" & ");
  const choice = schema.oneOf ?? schema.anyOf;
  if (choice) return `(${choice.map(typeOf).join(" | ")})`;
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  switch (schema.type) {
    case "integer":
    case "number":
      return "number";
    case "string":
      return "string";
    case "boolean":
      return "boolean";
    case "array":
      return `Array<${typeOf(schema.items)}>`;
    default:
      return objectType(schema);
  }
}
function objectType(schema) {
  if (!schema.properties) {
    const values = schema.additionalProperties;
    return `Record<string, ${values && values !== true ? typeOf(values) : "unknown"}>`;
  }
  const members = Object.entries(schema.properties).map(([key, value]) => {
    const note = value.description ? `/** ${value.description.replaceAll("*/", "* /")} */ ` : "";
    return `${note}${keyOf(key)}: ${typeOf(value)};`;
  });
  return `{ ${members.join(" ")} }`;
}

const lines = ["// Made from api/openapi/muster.v1.yaml by scripts/types.mjs. Do not edit.", ""];
for (const [name, schema] of Object.entries(document.components.schemas)) {
  lines.push(`export type ${name} = ${typeOf(schema)};`);
}

const ways = [];
const queries = [];
const answers = [];
for (const [path, item] of Object.entries(document.paths)) {
  for (const method of ["get", "post", "put", "patch", "delete"]) {
    const operation = item[method];
    // The page has no use for discovery and for its own files.
    if (!operation || path.startsWith("/openapi") || path.startsWith("/ui")) continue;
    const id = operation.operationId;
    const access = operation["x-muster-access"];
    ways.push(
      `  ${id}: [${[method.toUpperCase(), path, access.verb, access.resource].map((one) => JSON.stringify(one)).join(", ")}],`,
    );
    const query = (operation.parameters ?? []).map(resolve).filter((one) => one.in === "query");
    queries.push(
      `  ${id}: { ${query.map((one) => `${keyOf(one.name)}?: ${one.schema.type === "array" ? "string" : typeOf(one.schema)};`).join(" ")} };`,
    );
    const good = Object.entries(operation.responses).find(([code]) => code.startsWith("2"));
    const json = good?.[1].content?.["application/json"];
    answers.push(`  ${id}: ${json ? typeOf(json.schema) : "string"};`);
  }
}
lines.push("", "/** Method, path, verb and resource of each operation. */", "export const ways = {", ...ways, "} as const;");
lines.push("", "export interface Queries {", ...queries, "}");
lines.push("", "export interface Answers {", ...answers, "}", "");
writeFileSync(target, lines.join("\n"));
