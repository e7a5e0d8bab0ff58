import { forgetToken, token } from "./api/session";
import { dismiss, notices } from "./model/notices";
import { selection } from "./model/selection";
import { type Standing, standing, trouble } from "./model/service";
import { nextTheme, theme } from "./model/theme";
import { Letters } from "./views/letters";
import { Login } from "./views/login";
import { Queries } from "./views/queries";
import { QueryView } from "./views/query";
import { StreamView } from "./views/stream";
import { Streams } from "./views/streams";

const SAID: Readonly<Record<Standing, string>> = {
  connecting: "connecting",
  ready: "connected",
  recovering: "the service recovers",
  token: "a token is needed",
  away: "the service is away; trying again",
};

/** The whole page. */
export function App() {
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>Skip to the content</a>
      <header>
        <h1>SPAseq <span>workbench</span></h1>
        <p role="status" class={`standing ${standing.value}`} title={trouble.value}>{SAID[standing.value]}</p>
        {token.value !== null && <button type="button" onClick={forgetToken}>Forget the token</button>}
        <button type="button" onClick={nextTheme}>Colours: {theme.value}</button>
      </header>
      <nav aria-label="Streams and queries">
        <Queries />
        <Streams />
      </nav>
      <main id="main" tabIndex={-1}>
        <Main />
      </main>
      <div class="notices" aria-live="polite">
        {notices.value.map((notice) => (
          <p key={notice.id} class={notice.isError ? "notice bad" : "notice"}>
            {notice.text}
            <button type="button" aria-label="Dismiss" onClick={() => dismiss(notice.id)}>×</button>
          </p>
        ))}
      </div>
      <Login />
    </>
  );
}

function Main() {
  const wanted = selection.value;
  switch (wanted.kind) {
    case "stream":
      return <StreamView key={wanted.name} name={wanted.name} />;
    case "letters":
      return <Letters />;
    case "query":
      return <QueryView key={wanted.name} name={wanted.name} />;
    case "new":
      return <QueryView key="" name={null} />;
  }
}

/** Move the focus; the hash of the address says what is shown, and stays. */
function skip(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
