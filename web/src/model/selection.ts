import { signal } from "@preact/signals";

/** What the main part of the page shows. */
export type Selection =
  | { kind: "query"; name: string }
  | { kind: "stream"; name: string }
  | { kind: "letters" }
  | { kind: "new" };

export const selection = signal<Selection>(ofHash(location.hash));

/** Show something; the address of the page says what, so that it can be opened again. */
export function select(wanted: Selection): void {
  location.hash = hashOf(wanted);
  selection.value = wanted;
}

window.addEventListener("hashchange", () => {
  selection.value = ofHash(location.hash);
});

function hashOf(wanted: Selection): string {
  switch (wanted.kind) {
    case "query":
      return `#/queries/${encodeURIComponent(wanted.name)}`;
    case "stream":
      return `#/streams/${encodeURIComponent(wanted.name)}`;
    default:
      return `#/${wanted.kind}`;
  }
}

function ofHash(hash: string): Selection {
  const [, kind, name] = hash.split("/");
  if (kind === "queries" && name) return { kind: "query", name: decoded(name) };
  if (kind === "streams" && name) return { kind: "stream", name: decoded(name) };
  return kind === "letters" ? { kind: "letters" } : { kind: "new" };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
