import { signal } from "@preact/signals";
import type { Row } from "../api/answers";
import { askJson, askLines, Refused, said } from "../api/client";
import { type LiveEvent, liveRows } from "../api/events";

const PAGE_ROWS = 200;
const PAGES_MAX = 60;
/** Rows that are read in a frame; of more the older ones are fetched when they are looked at. */
const SHOWN_MAX = 500;
const AGAIN_MS = 1_000;
const HIDDEN_MS = 1_000;
/** Rows that can be scrolled to; older ones are a matter for `GET …/matches`. */
const ROWS_MAX = 1_000_000;

/** Rows by their place in the page; of those up to `complete` none is to be had that is not here. */
interface Page {
  rows: (Row | undefined)[];
  complete: number;
}

/**
 * The rows of a query: live ones as they come, older ones page by page when they are looked at.
 *
 * Rows arrive in any number; the page is told of them once a frame.
 */
export class Feed {
  /** Changes when there is something new to show. */
  readonly version = signal(0);
  readonly trouble = signal("");
  /** The variables of the rows that have been seen, in order. */
  readonly variables = signal<string[]>([]);
  private readonly pages = new Map<number, Page>();
  private readonly asked = new Set<number>();
  private readonly ending = new AbortController();
  private arrived: LiveEvent[] = [];
  private scheduled = false;
  private oldest = 1;
  newest = 0;

  constructor(readonly name: string) {
    void this.run();
  }

  /** The number of the first row that can be shown. */
  get first(): number {
    return Math.max(this.oldest, this.newest - ROWS_MAX + 1);
  }

  get count(): number {
    return Math.max(0, this.newest - this.first + 1);
  }

  /** A row by its number; one that is not here yet is asked for. */
  row(number: number): Row | undefined {
    const page = Math.floor((number - 1) / PAGE_ROWS);
    const found = this.pages.get(page);
    const row = found?.rows[(number - 1) % PAGE_ROWS];
    if (row === undefined && number > (found?.complete ?? 0)) void this.fetchPage(page);
    return row;
  }

  /** The newest rows that are here, the newest last. */
  recent(most: number): Row[] {
    const numbers = Array.from({ length: Math.min(most, this.count) }, (_, index) => this.newest - index);
    return numbers.reverse().flatMap((number) => this.row(number) ?? []);
  }

  close(): void {
    this.ending.abort();
  }

  private async run(): Promise<void> {
    const { signal } = this.ending;
    while (!signal.aborted) {
      try {
        if (this.newest === 0) await this.begin();
        for await (const events of liveRows(this.name, this.newest, signal)) {
          this.trouble.value = "";
          this.take(events);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.trouble.value = said(error);
        if (error instanceof Refused && error.status === 410) this.startAnew(error.details.oldest ?? 1);
      }
      await new Promise((done) => setTimeout(done, AGAIN_MS));
    }
  }

  private async begin(): Promise<void> {
    const path = { name: this.name };
    const { signal } = this.ending;
    this.newest = (await askJson("GET /v1/queries/{name}", { path, signal })).rows;
    const oldest = await askLines("GET /v1/queries/{name}/matches", { path, query: { limit: 1 }, signal });
    this.oldest = oldest[0]?.n ?? this.newest + 1;
    this.version.value += 1;
  }

  private startAnew(oldest: number): void {
    this.oldest = oldest;
    this.newest = Math.max(this.newest, oldest - 1);
    this.pages.clear();
  }

  /** Keep what has arrived until the next frame. */
  private take(events: LiveEvent[]): void {
    this.arrived = this.arrived.concat(events).slice(-SHOWN_MAX);
    this.newest = Number(events.at(-1)?.id ?? this.newest);
    if (this.scheduled) return;
    this.scheduled = true;
    if (document.hidden) setTimeout(() => this.show(), HIDDEN_MS);
    else requestAnimationFrame(() => this.show());
  }

  private show(): void {
    const events = this.arrived;
    this.arrived = [];
    this.scheduled = false;
    this.keep(events.map((event) => JSON.parse(event.data) as Row));
  }

  private keep(rows: Row[]): void {
    for (const row of rows) this.page(Math.floor((row.n - 1) / PAGE_ROWS)).rows[(row.n - 1) % PAGE_ROWS] = row;
    const known = new Set(this.variables.value);
    const found = rows.flatMap((row) => Object.keys(row.bindings ?? {})).filter((name) => !known.has(name));
    if (found.length > 0) this.variables.value = [...new Set([...known, ...found])];
    this.version.value += 1;
  }

  /** A page; the one that was made first goes when there are too many. */
  private page(number: number): Page {
    const found = this.pages.get(number);
    if (found !== undefined) return found;
    const [eldest] = this.pages.keys();
    if (this.pages.size >= PAGES_MAX && eldest !== undefined) this.pages.delete(eldest);
    const made: Page = { rows: [], complete: 0 };
    this.pages.set(number, made);
    return made;
  }

  private async fetchPage(page: number): Promise<void> {
    if (this.asked.has(page)) return;
    this.asked.add(page);
    const after = Math.max(page * PAGE_ROWS, this.oldest - 1);
    const limit = (page + 1) * PAGE_ROWS - after;
    const { newest } = this;
    try {
      const request = { path: { name: this.name }, query: { after, limit }, signal: this.ending.signal };
      const rows = await askLines("GET /v1/queries/{name}/matches", request);
      this.page(page).complete = newest;
      this.keep(rows);
    } catch (error) {
      if (this.ending.signal.aborted) return;
      if (error instanceof Refused && error.status === 410) this.startAnew(error.details.oldest ?? 1);
      else this.trouble.value = said(error);
    } finally {
      this.asked.delete(page);
    }
  }
}
