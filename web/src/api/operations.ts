// Made by `make web` of the service's OpenAPI document; do not edit.

export interface Advance { time: string; }

export interface KnowledgeSettings { iri: string; path?: string | null; url?: string | null; failure?: "fail" | "skip" | "wait"; refresh?: string | null; timeout?: string | null; entail?: "rdfs" | null; }

export interface ProblemDetails { type: string; title: string; status: number; detail: string; problems?: (ProblemInText)[]; }

export interface ProblemInText { code: string; line: number; column: number; message: string; hint: string; }

export interface QueryChanges { text?: string; max_runs?: number; retention?: RowRetention; sinks?: (SinkSettings)[]; since?: "now" | "window"; }

export interface RowRetention { rows?: number | null; age?: string | null; }

export interface SinkSettings { kafka?: string | null; webhook?: string | null; file?: string | null; topic?: string | null; transactional_id?: string | null; properties?: Record<string, string> | null; secrets?: Record<string, string> | null; token?: string | null; }

export interface Replay { from: string; to: string; }

export interface StreamSettings { iri: string; max_delay?: string; idle_timeout?: string | null; max_ahead?: string | null; clock?: "arrival" | "event"; time?: (string)[]; time_choice?: "earliest" | "latest" | null; time_unit?: "ms" | "ns" | "s" | "us"; time_origin?: string | null; template?: string | null; contexts?: Record<string, string>; dedup?: Dedup; retention?: LogRetention; source?: SourceSettings | null; }

export interface Dedup { age?: string; events?: number; }

export interface LogRetention { age?: string | null; size?: string | null; }

export interface SourceSettings { kafka?: string | null; mqtt?: string | null; sse?: string | null; websocket?: string | null; files?: string | null; format?: "csv" | "jelly" | "jsonld" | "ndjson" | "ndjsonld" | "nquads" | "ntriples" | "trig" | "turtle" | null; topic?: string | null; start?: "earliest" | "latest" | null; on_loss?: "skip" | "wait" | null; properties?: Record<string, string> | null; secrets?: Record<string, string> | null; client_id?: string | null; user?: string | null; password?: string | null; token?: string | null; event?: string | null; }

export interface WhyAsked { match: number; }

export interface WhyNotAsked { bindings?: Record<string, Record<string, unknown>>; events?: Record<string, string | (string)[]>; from?: string | null; to?: string | null; }

export interface Operations {
  "GET /v1/streams": { path: {}; query: {}; body: {}; };
  "GET /v1/streams/{name}": { path: { name: string; }; query: {}; body: {}; };
  "PUT /v1/streams/{name}": { path: { name: string; }; query: {}; body: { "application/json": StreamSettings; }; };
  "DELETE /v1/streams/{name}": { path: { name: string; }; query: {}; body: {}; };
  "POST /v1/streams/{name}": { path: { name: string; }; query: {}; body: { "application/n-quads": string | Blob; "application/trig": string | Blob; "text/turtle": string | Blob; "application/n-triples": string | Blob; "application/ld+json": string | Blob; "application/x-ndjson-ld": string | Blob; "application/x-ndjson": string | Blob; "application/x-jelly-rdf": string | Blob; "text/csv": string | Blob; }; };
  "POST /v1/streams/{name}/advance": { path: { name: string; }; query: {}; body: { "application/json": Advance; }; };
  "GET /v1/kb": { path: {}; query: {}; body: {}; };
  "GET /v1/kb/{name}": { path: { name: string; }; query: {}; body: {}; };
  "PUT /v1/kb/{name}": { path: { name: string; }; query: {}; body: { "application/json": KnowledgeSettings; }; };
  "DELETE /v1/kb/{name}": { path: { name: string; }; query: {}; body: {}; };
  "GET /v1/queries": { path: {}; query: {}; body: {}; };
  "GET /v1/queries/{name}": { path: { name: string; }; query: {}; body: {}; };
  "PUT /v1/queries/{name}": { path: { name: string; }; query: { since?: string | number; }; body: { "application/x-spaseq": string | Blob; "text/plain": string | Blob; "application/json": QueryChanges; }; };
  "DELETE /v1/queries/{name}": { path: { name: string; }; query: {}; body: {}; };
  "POST /v1/queries/{name}/pause": { path: { name: string; }; query: {}; body: {}; };
  "POST /v1/queries/{name}/resume": { path: { name: string; }; query: {}; body: {}; };
  "POST /v1/validate": { path: {}; query: {}; body: { "application/x-spaseq": string | Blob; "text/plain": string | Blob; }; };
  "POST /v1/format": { path: {}; query: {}; body: { "application/x-spaseq": string | Blob; "text/plain": string | Blob; }; };
  "GET /v1/queries/{name}/explain": { path: { name: string; }; query: {}; body: {}; };
  "GET /v1/queries/{name}/runs": { path: { name: string; }; query: { state?: string | number; limit?: string | number; }; body: {}; };
  "GET /v1/queries/{name}/matches": { path: { name: string; }; query: { after?: string | number; limit?: string | number; }; body: {}; };
  "POST /v1/queries/{name}/replay": { path: { name: string; }; query: {}; body: { "application/json": Replay; }; };
  "GET /v1/queries/{name}/funnel": { path: { name: string; }; query: { from?: string | number; to?: string | number; }; body: {}; };
  "POST /v1/queries/{name}/why": { path: { name: string; }; query: {}; body: { "application/json": WhyAsked; }; };
  "POST /v1/queries/{name}/why-not": { path: { name: string; }; query: {}; body: { "application/json": WhyNotAsked; }; };
  "GET /v1/streams/{name}/events": { path: { name: string; }; query: { last?: string | number; }; body: {}; };
  "GET /v1/queries/{name}/matches/{number}/events": { path: { name: string; number: string; }; query: {}; body: {}; };
  "GET /v1/vocabulary": { path: {}; query: {}; body: {}; };
  "GET /v1/deadletters": { path: {}; query: { after?: string | number; }; body: {}; };
  "POST /v1/snapshot": { path: {}; query: {}; body: {}; };
  "GET /healthz": { path: {}; query: {}; body: {}; };
  "GET /readyz": { path: {}; query: {}; body: {}; };
  "GET /metrics": { path: {}; query: {}; body: {}; };
}
