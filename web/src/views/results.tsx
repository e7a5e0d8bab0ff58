import { useEffect, useState } from "preact/hooks";
import type { Query } from "../api/answers";
import { Feed } from "../model/feed";
import { Tabs } from "../parts/tabs";
import { Automaton } from "./automaton";
import { Matches } from "./matches";
import { WhyNotOf } from "./why_not";

/** What a query finds, and how it is run. */
export function Results({ query }: { query: Query }) {
  const [feed, setFeed] = useState<Feed | null>(null);
  const [shown, show] = useState("matches");
  const begunAnew = feed !== null && query.rows < feed.newest - 1 && query.rows === 0;
  useEffect(() => {
    const made = new Feed(query.name);
    setFeed(made);
    return () => made.close();
  }, [query.name, begunAnew]);
  if (feed === null) return null;
  const tabs = [
    { key: "matches", title: "Matches", content: () => <Matches query={query} feed={feed} /> },
    { key: "automaton", title: "Automaton", content: () => <Automaton query={query} /> },
    { key: "why-not", title: "Why not?", content: () => <WhyNotOf query={query} /> },
  ];
  return <Tabs label="Results" tabs={tabs} shown={shown} show={show} />;
}
