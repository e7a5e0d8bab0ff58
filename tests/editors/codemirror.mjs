// Tags of every character of texts, by the parser for CodeMirror: a JSON list of texts in, one of lists of tags out.
import { readFileSync } from "node:fs";
import { streamParser } from "../../editors/codemirror/spaseq.js";

const table = JSON.parse(readFileSync(new URL("../../editors/tokens.json", import.meta.url), "utf8"));
const parser = streamParser(table);

function tags(text) {
  const state = parser.startState();
  const found = [];
  for (const line of text.split("\n")) {
    const stream = { pos: 0, string: line, next() { this.pos += 1; } };
    while (stream.pos < line.length) {
      const start = stream.pos;
      const tag = parser.token(stream, state);
      for (const character of line.slice(start, stream.pos)) if (character.trim()) found.push(tag);
    }
  }
  return found;
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(tags)));
