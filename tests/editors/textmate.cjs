// Scopes of every character of texts, by vscode-textmate: a JSON list of texts in, one of lists of scopes out.
const { readFileSync } = require("node:fs");
const { join } = require("node:path");

const extension = join(__dirname, "../../editors/vscode");
const { INITIAL, Registry, parseRawGrammar } = require("vscode-textmate");
const oniguruma = require("vscode-oniguruma");

function scopes(grammar, text) {
  const found = [];
  let stack = INITIAL;
  for (const line of text.split("\n")) {
    const read = grammar.tokenizeLine(line, stack);
    stack = read.ruleStack;
    for (const token of read.tokens) {
      const scope = token.scopes.length > 1 ? token.scopes[token.scopes.length - 1] : null;
      for (const character of line.slice(token.startIndex, token.endIndex)) if (character.trim()) found.push(scope);
    }
  }
  return found;
}

async function main() {
  await oniguruma.loadWASM(readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer);
  const path = join(extension, "syntaxes/spaseq.tmLanguage.json");
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => parseRawGrammar(readFileSync(path, "utf8"), path),
  });
  const grammar = await registry.loadGrammar("source.spaseq");
  console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map((text) => scopes(grammar, text))));
}

main();
