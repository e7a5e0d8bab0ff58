import { useState } from "preact/hooks";
import { Grid } from "../parts/grid";
import { LETTERS_MAX, letters } from "../model/service";

/** Late and malformed events, the newest first. */
export function Letters() {
  const [chosen, choose] = useState<number | null>(null);
  const found = letters.value;
  const letter = chosen === null ? undefined : found[chosen];
  return (
    <section class="fill" aria-labelledby="letters-title">
      <h2 id="letters-title">Dead letters</h2>
      <p class="faint">Events that came too late or could not be read; the newest {LETTERS_MAX} are here.</p>
      <Grid
        label="Dead letters"
        columns={["n", "stream", "sort", "reason"]}
        count={found.length}
        cells={(index) => {
          const each = found[index];
          return each === undefined ? null : [each.n, each.stream, each.sort, each.reason];
        }}
        chosen={chosen}
        choose={choose}
        follow={false}
      />
      {letter && (
        <div class="detail" aria-live="polite">
          <h3>Dead letter {letter.n}</h3>
          <p>{letter.reason}</p>
          <pre tabIndex={0}>{letter.raw ?? letter.graph ?? ""}</pre>
        </div>
      )}
    </section>
  );
}
