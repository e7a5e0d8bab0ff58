// The language of SPAseq for CodeMirror 6: StreamLanguage.define(streamParser(table)), the table being tokens.json.

/** A StreamParser that reads a line at a time with the machine of the table. */
export function streamParser(table) {
  const states = Object.fromEntries(
    Object.entries(table.states).map(([name, rows]) => [name, rows.map((row) => compiled(row, table.kinds))]),
  );
  return {
    name: "spaseq",
    startState: () => ({ stack: [table.start] }),
    copyState: (state) => ({ stack: [...state.stack] }),
    token: (stream, state) => next(states, stream, state),
    languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "{", "[", "'", '"'] } },
  };
}

function compiled(row, kinds) {
  return {
    pattern: new RegExp(row.pattern, row.ignoreCase ? "iuy" : "uy"),
    tag: row.kind === null ? null : kinds[row.kind],
    push: row.push,
    pop: row.pop === true,
  };
}

/** The tag of the next token; null for text without one. Rows that take no text lead to the next state. */
function next(states, stream, state) {
  for (;;) {
    const row = states[state.stack[state.stack.length - 1]].find((each) => matches(each.pattern, stream));
    if (row === undefined) {
      stream.next();
      return null;
    }
    if (row.pop && state.stack.length > 1) state.stack.pop();
    if (row.push) state.stack.push(row.push);
    if (row.pattern.lastIndex > stream.pos) {
      stream.pos = row.pattern.lastIndex;
      return row.tag;
    }
  }
}

function matches(pattern, stream) {
  pattern.lastIndex = stream.pos;
  return pattern.test(stream.string);
}
