import { signal } from "@preact/signals";

const KEY = "spaseq.token";

/** The token that requests carry; it lives as long as the tab. */
export const token = signal<string | null>(sessionStorage.getItem(KEY));

/** True when the service has asked for a token, or refused the one it got. */
export const tokenWanted = signal(false);

export function useToken(value: string): void {
  sessionStorage.setItem(KEY, value);
  token.value = value;
  tokenWanted.value = false;
}

export function forgetToken(): void {
  sessionStorage.removeItem(KEY);
  token.value = null;
}
