export const PIECE_BYTES = 4 << 20;

const GRAPH = /<([^<>\s]*)>\s*\.\s*$/;
const SUBJECT = /^\s*<([^<>\s]*)>/;
const QUAD = /^\s*\S+\s+\S+\s+(?:<[^<>\s]*>|_:\S+|"(?:[^"\\]|\\.)*"(?:@[A-Za-z0-9-]+|\^\^<[^<>\s]*>)?)\s*<[^<>\s]*>\s*\.\s*$/;

/**
 * A file of N-Quads in pieces of about so many bytes; lines about one graph, those that say its time among them, stay
 * together.
 */
export async function* pieces(file: Blob, bytes = PIECE_BYTES): AsyncGenerator<Blob> {
  let begin = 0;
  for (let size = bytes; begin < file.size; size *= 2) {
    const end = begin + size;
    const cut = end < file.size ? lastBoundary(await file.slice(begin, end).arrayBuffer()) : file.size - begin;
    if (cut === 0) continue;
    yield file.slice(begin, begin + cut);
    begin += cut;
    size = bytes / 2;
  }
}

/** The bytes before the last line that is about another graph than the line before it; 0: there is none. */
function lastBoundary(buffer: ArrayBuffer): number {
  const lines = new TextDecoder().decode(buffer).split("\n").slice(0, -1);
  for (let index = lines.length - 1; index > 0; index -= 1) {
    if (about(lines[index]) !== about(lines[index - 1])) {
      return new TextEncoder().encode(`${lines.slice(0, index).join("\n")}\n`).length;
    }
  }
  return 0;
}

/** The graph that a line is in, or else its subject, as of a line that says the time of a graph. */
function about(line = ""): string | undefined {
  return QUAD.test(line) ? GRAPH.exec(line)?.[1] : SUBJECT.exec(line)?.[1];
}
