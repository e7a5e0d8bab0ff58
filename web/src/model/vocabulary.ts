import { signal } from "@preact/signals";
import type { Vocabulary } from "../api/answers";
import { askJson } from "../api/client";

const BELIEVED_MS = 10_000;
const NOTHING: Vocabulary = { properties: [], classes: [], resources: [], graphs: [], streams: [] };

export const vocabulary = signal<Vocabulary>(NOTHING);

let asked = -BELIEVED_MS;

/** Ask for what has been seen, unless that was done a moment ago. */
export async function learn(): Promise<void> {
  if (performance.now() < asked + BELIEVED_MS) return;
  asked = performance.now();
  vocabulary.value = await askJson("GET /v1/vocabulary").catch(() => vocabulary.value);
}
