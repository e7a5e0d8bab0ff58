import { EXAMPLES } from "../model/examples";

/** Queries to begin with. */
export function Examples({ open }: { open: (example: { name: string; text: string }) => void }) {
  const opened = (index: number) => {
    const example = EXAMPLES[index];
    if (example) open({ name: example.title.replace(/\W+/g, "-"), text: example.text });
  };
  return (
    <label>
      Example{" "}
      <select value="" onChange={(event) => opened(Number(event.currentTarget.value))}>
        <option value="" disabled>choose one</option>
        {EXAMPLES.map((example, index) => <option key={example.title} value={index}>{example.title}</option>)}
      </select>
    </label>
  );
}
