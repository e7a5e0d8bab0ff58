"use strict";
// The page of the service: it asks the same requests as any client, and writes all it is told as text, never as HTML.

const REFRESH_MS = 2000, AGAIN_MS = 1000, ROWS_MAX = 200, LETTERS_MAX = 50;
const KEY = "spaseq.token";
const at = (id) => document.getElementById(id);
let token = sessionStorage.getItem(KEY);
let followed = null;      // the name of the query whose rows are shown
let following = null;     // ends the request that brings them
let letters = 0;          // the number of the last dead letter that was read

async function ask(path, accept, options = {}) {
  const headers = { Accept: accept, ...(options.headers || {}) };
  if (token) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(path, { ...options, headers, cache: "no-store" });
  if (answer.status === 401) { at("login").hidden = false; }
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({}));
    throw new Error(`${answer.status} ${problem.detail || answer.statusText}`);
  }
  return answer;
}

function cell(value, kind) {
  const made = document.createElement("td");
  made.textContent = value === null || value === undefined ? "" : String(value);
  if (kind) made.className = kind;
  return made;
}

function line(cells) {
  const made = document.createElement("tr");
  made.append(...cells);
  return made;
}

function showStreams(streams) {
  at("streams").replaceChildren(...streams.map((each) => line([
    cell(each.name), cell(each.iri), cell(each.derived ? "derived" : each.events), cell(each.late),
    cell(each.malformed), cell(each.duplicates), cell(each.watermark), cell(each.idle)])));
}

function showQueries(queries) {
  at("queries").replaceChildren(...queries.map((each) => {
    const button = document.createElement("button");
    button.textContent = each.name === followed ? "following" : "follow";
    button.addEventListener("click", () => follow(each.name, each.text));
    const last = document.createElement("td");
    last.append(button);
    return line([cell(each.name), cell(each.state, each.state), cell(each.rows), cell(each.runs),
      cell(each.error && (each.error.detail || each.error.title)), last]);
  }));
}

function showRow(number, text) {
  const row = JSON.parse(text);
  const shown = row.bindings
    ? Object.entries(row.bindings).map(([name, term]) => `?${name} = ${term.value}`).join("   ")
    : `${row.graph}\n${(row.triples || []).join("\n")}`;
  at("rows").prepend(line([cell(number), cell(row.time), cell(shown, "wide")]));
  while (at("rows").childElementCount > ROWS_MAX) at("rows").lastElementChild.remove();
}

async function follow(name, text) {
  if (following) following.abort();
  const mine = following = new AbortController();
  followed = name;
  at("following").textContent = `of ${name}`;
  at("text").textContent = text;
  at("text").hidden = false;
  at("rows").replaceChildren();
  let last = null;
  while (!mine.signal.aborted) {
    try {
      const headers = last === null ? {} : { "Last-Event-ID": last };
      const path = `/v1/queries/${encodeURIComponent(name)}/matches`;
      const answer = await ask(path, "text/event-stream", { headers, signal: mine.signal });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const events = (rest + part.value).split("\n\n");
        rest = events.pop();
        for (const event of events) {
          const fields = Object.fromEntries(event.split("\n").map((each) => each.split(/: (.*)/s)));
          if (fields.id && fields.data) { last = fields.id; showRow(last, fields.data); }
        }
      }
    } catch (error) {
      if (mine.signal.aborted) return;
      at("state").textContent = error.message;
    }
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}

async function readLetters() {
  const answer = await ask(`/v1/deadletters?after=${letters}`, "application/x-ndjson");
  for (const text of (await answer.text()).split("\n").filter(Boolean)) {
    const letter = JSON.parse(text);
    letters = letter.n;
    at("letters").prepend(line([cell(letter.n), cell(letter.stream), cell(letter.sort), cell(letter.reason),
      cell((letter.raw || "").slice(0, 300), "wide")]));
  }
  while (at("letters").childElementCount > LETTERS_MAX) at("letters").lastElementChild.remove();
}

async function refresh() {
  try {
    showStreams(await (await ask("/v1/streams", "application/json")).json());
    showQueries(await (await ask("/v1/queries", "application/json")).json());
    await readLetters();
    at("login").hidden = true;
    at("state").textContent = "ready";
  } catch (error) {
    at("state").textContent = error.message;
  }
  setTimeout(refresh, REFRESH_MS);
}

at("login").addEventListener("submit", (event) => {
  event.preventDefault();
  token = at("token").value.trim();
  sessionStorage.setItem(KEY, token);
  at("token").value = "";
});
refresh();
