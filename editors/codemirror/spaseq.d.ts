/** A row of a state: the pattern is JavaScript's, for the flags `u` and, with ignoreCase, `i`. */
export interface TokenRow {
  pattern: string;
  kind: string | null;
  ignoreCase?: boolean;
  push?: string;
  pop?: boolean;
}

/** editors/tokens.json. */
export interface TokenTable {
  start: string;
  states: Record<string, TokenRow[]>;
  kinds: Record<string, string>;
  keywords: Record<string, string>;
  sparqlKeywords: Record<string, string>;
  functions: Record<string, string>;
}

export interface State {
  stack: string[];
}

/** What is used of CodeMirror's StringStream. */
export interface Stream {
  pos: number;
  string: string;
  next(): string | void;
}

/** A StreamParser of @codemirror/language. */
export interface SpaseqParser {
  name: string;
  startState(): State;
  copyState(state: State): State;
  token(stream: Stream, state: State): string | null;
  languageData: Record<string, unknown>;
}

export function streamParser(table: TokenTable): SpaseqParser;
