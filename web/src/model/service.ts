import { signal } from "@preact/signals";
import type { DeadLetter, Query, Stream } from "../api/answers";
import { askJson, askLines, Refused, said } from "../api/client";
import { token } from "../api/session";
import { Counter } from "./rates";

const REFRESH_MS = 1_000;
const SAMPLES_MAX = 300;
export const LETTERS_MAX = 500;

/** How the page and the service stand to each other. */
export type Standing = "connecting" | "ready" | "recovering" | "token" | "away";

export const standing = signal<Standing>("connecting");
export const trouble = signal("");
export const streams = signal<Stream[]>([]);
export const queries = signal<Query[]>([]);
/** The newest dead letters, the newest first. */
export const letters = signal<DeadLetter[]>([]);

const counters = new Map<string, Counter>();
let lastLetter = 0;

/** The counter of a stream's events or of a query's rows. */
export function counter(kind: "stream" | "query", name: string): Counter {
  const key = `${kind} ${name}`;
  const found = counters.get(key) ?? new Counter(SAMPLES_MAX);
  counters.set(key, found);
  return found;
}

/** Ask for everything that is polled, once. */
export async function refresh(): Promise<void> {
  try {
    const [newStreams, newQueries] = await Promise.all([
      askJson("GET /v1/streams"),
      askJson("GET /v1/queries"),
    ]);
    const now = performance.now() / 1_000;
    for (const each of newStreams) counter("stream", each.name).note(now, each.events ?? 0);
    for (const each of newQueries) counter("query", each.name).note(now, each.rows);
    streams.value = newStreams;
    queries.value = newQueries;
    await readLetters();
    standing.value = "ready";
    trouble.value = "";
  } catch (error) {
    standing.value = standingOf(error);
    trouble.value = said(error);
  }
}

/** Ask again and again, and at once when there is another token. */
export function keepFresh(): void {
  let timer = 0;
  const round = async () => {
    window.clearTimeout(timer);
    await refresh();
    timer = window.setTimeout(() => void round(), REFRESH_MS);
  };
  token.subscribe(() => void round());
}

async function readLetters(): Promise<void> {
  const query = { after: lastLetter };
  const found = await askLines("GET /v1/deadletters", { query });
  if (found.length === 0) return;
  lastLetter = found.at(-1)?.n ?? lastLetter;
  letters.value = [...found.reverse(), ...letters.value].slice(0, LETTERS_MAX);
}

function standingOf(error: unknown): Standing {
  if (!(error instanceof Refused)) return "away";
  if (error.status === 401 || error.status === 403) return "token";
  return error.status === 503 ? "recovering" : "away";
}
