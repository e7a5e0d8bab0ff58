import { useEffect, useRef } from "preact/hooks";
import { token, tokenWanted, useToken } from "../api/session";
import { trouble } from "../model/service";

/** The question for a token; it stands above the page until there is one. */
export function Login() {
  const dialog = useRef<HTMLDialogElement>(null);
  const wanted = tokenWanted.value;
  useEffect(() => {
    if (wanted) dialog.current?.showModal();
    else dialog.current?.close();
  }, [wanted]);
  const used = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    useToken(String(new FormData(form).get("token")).trim());
    form.reset();
  };
  return (
    <dialog ref={dialog} aria-labelledby="login-title">
      <form class="stack" onSubmit={used}>
        <h2 id="login-title">This service asks for a token</h2>
        <label>Token <input name="token" type="password" autocomplete="off" required /></label>
        <p class="bad" role="status">{token.value === null ? "" : trouble.value}</p>
        <p class="faint">A token for reading shows everything; to push events or to change queries takes another one.</p>
        <button type="submit">Use</button>
      </form>
    </dialog>
  );
}
