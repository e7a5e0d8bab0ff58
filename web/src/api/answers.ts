/** What the service answers, as docs/service.md describes it. */

export interface Stream {
  name: string;
  iri: string;
  derived?: true;
  events?: number;
  late?: number;
  malformed?: number;
  duplicates?: number;
  watermark?: string | null;
  idle?: boolean;
  position?: number;
}

export interface ProblemInText {
  code: string;
  line: number;
  column: number;
  message: string;
  hint: string;
}

export interface ProblemDetails {
  title?: string;
  detail?: string;
  status?: number;
  problems?: ProblemInText[];
  oldest?: number;
}

export interface Query {
  name: string;
  text: string;
  state: "running" | "paused" | "failed";
  rows: number;
  runs: number | null;
  error: ProblemDetails | null;
}

export interface Validation {
  problems: ProblemInText[];
  warnings: ProblemInText[];
}

/** A term as in SPARQL 1.1 Query Results JSON. */
export interface Term {
  type: "uri" | "literal" | "bnode" | "typed-literal";
  value: string;
  datatype?: string;
  "xml:lang"?: string;
}

export type Bindings = Record<string, Term>;

/** A row: of SELECT with bindings and events, of CONSTRUCT with a graph. */
export interface Row {
  n: number;
  query: string;
  time: string;
  start: string;
  bindings?: Bindings;
  events?: Record<string, string[]>;
  graph?: string;
  triples?: string[];
}

export interface DeadLetter {
  n: number;
  stream: string;
  sort: string;
  reason: string;
  raw?: string;
  graph?: string;
  time?: string;
}

export interface Pushed {
  accepted: number;
  duplicates: number;
  late: number;
  rejected: { line: number | null; column: number | null; reason: string }[];
  position: number;
}

/** An event of the log; its triples are N-Triples. */
export interface StreamEvent {
  graph: string;
  stream: string;
  time: string;
  triples: string[];
}

/** IRIs that the newest events have, and those of streams and knowledge bases. */
export interface Vocabulary {
  properties: string[];
  classes: string[];
  resources: string[];
  graphs: string[];
  streams: string[];
}

/** The JSON that an operation answers. */
export interface Answers {
  "GET /v1/streams": Stream[];
  "GET /v1/queries": Query[];
  "GET /v1/queries/{name}": Query;
  "POST /v1/validate": Validation;
  "POST /v1/streams/{name}": Pushed;
  "GET /v1/streams/{name}/events": StreamEvent[];
  "GET /v1/queries/{name}/matches/{number}/events": Record<string, StreamEvent[]>;
  "GET /v1/vocabulary": Vocabulary;
}

/** One line of the NDJSON that an operation answers. */
export interface Lines {
  "GET /v1/queries/{name}/matches": Row;
  "GET /v1/deadletters": DeadLetter;
}
