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
  /** Bytes of its state when it was measured last; null: not yet. */
  memory: number | null;
  error: ProblemDetails | null;
}

export interface Validation {
  problems: ProblemInText[];
  warnings: ProblemInText[];
}

/** A term as in SPARQL 1.1 Query Results JSON. */
export type Term = {
  type: "uri" | "literal" | "bnode" | "typed-literal";
  value: string;
  datatype?: string;
  "xml:lang"?: string;
};

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

export interface State {
  id: number;
  label: string;
  kind: "start" | "step" | "any-order" | "accept";
  runs?: number | null;
}

export interface Edge {
  source: number;
  target: number;
  label: string;
  operator: string;
  notes: string[];
  taken?: number | null;
}

export interface Condition {
  text: string;
  decided: string;
}

/** The JSON of `spaseq explain`, as far as the workbench shows it. */
export interface Description {
  query: string;
  sentences: string[];
  window: string;
  streams: { name: string; iri: string; origin: string }[];
  patterns: { name: string; streams: string[]; variables: string[]; plan: string[]; conditions: Condition[] }[];
  states: State[];
  edges: Edge[];
  conditions: Condition[];
  evaluator: { name: string; reason: string; form: string; form_reason: string; alternatives: { evaluator: string; why_not: string }[] };
}

/** A partial match that waits at a state. */
export interface WaitingRun {
  events: Record<string, string[]>;
  bindings: Bindings;
  until: string | null;
}

/** How many events each part of the steps' patterns left over. */
export interface Funnel {
  query: string;
  steps: {
    step: string;
    seen: number;
    patterns: { text: string; line: number; alone: number | null; left: number }[];
    filters: { text: string; line: number; left: number }[];
    kbs: { iri: string; left: number }[];
    skipped: number;
    solutions: number;
  }[];
  edges: { from: string; to: string; waited: number | null; took: number | null; lost: Record<string, number> | null }[];
  matches: number | null;
  removed: Record<string, number>;
  rows: number;
}

export interface ConditionSeen {
  text: string;
  values: Bindings;
  holds: boolean | null;
}

/** Why a row is there: one match, or several of OVER MATCHES. */
export interface Why {
  steps: {
    step: string;
    event: string;
    triples: string[];
    kb: Record<string, string[]>;
    bindings: Bindings;
    conditions: ConditionSeen[];
  }[];
  absent: { step: string; from: string; to: string }[];
}

/** Why there is no match: the attempts that came furthest. */
export interface WhyNot {
  matches: number;
  attempts: {
    events: Record<string, string[]>;
    bindings: Bindings;
    step: string;
    cause: string;
    also: string[];
    event: string | null;
    detail: Record<string, unknown>;
    repair: string;
  }[];
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
  "GET /v1/queries/{name}/explain": Description;
  "GET /v1/queries/{name}/runs": WaitingRun[];
  "GET /v1/queries/{name}/funnel": Funnel;
  "POST /v1/queries/{name}/why": Why | { matches: Why[] };
  "POST /v1/queries/{name}/why-not": WhyNot;
  "POST /v1/format": { text: string };
}

/** One line of the NDJSON that an operation answers. */
export interface Lines {
  "GET /v1/queries/{name}/matches": Row;
  "GET /v1/deadletters": DeadLetter;
}
