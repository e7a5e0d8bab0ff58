import { ask } from "./client";

/** A server-sent event. */
export interface LiveEvent {
  id: string;
  data: string;
}

/** The rows of a query behind a number as they come, in the pieces in which they arrive; ends with the connection. */
export async function* liveRows(name: string, after: number, signal: AbortSignal): AsyncGenerator<LiveEvent[]> {
  const headers = { "Last-Event-ID": String(after) };
  const answer = await ask("GET /v1/queries/{name}/matches", {
    path: { name },
    accept: "text/event-stream",
    headers,
    signal,
  });
  if (answer.body === null) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const blocks = (rest + part.value).split("\n\n");
    rest = blocks.pop() ?? "";
    const events = blocks.map(parsed).filter((event) => event !== null);
    if (events.length > 0) yield events;
  }
}

/** The event of a block of lines; null for a comment. */
function parsed(block: string): LiveEvent | null {
  let id = "";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) id = line.slice(4);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  return id !== "" && data !== "" ? { id, data } : null;
}
