import { signal } from "@preact/signals";
import { said } from "../api/client";

const SHOWN_MS = 8_000;

/** A line about something that has been done, or could not be done. */
export interface Notice {
  id: number;
  text: string;
  isError: boolean;
}

export const notices = signal<Notice[]>([]);

let last = 0;

export function tell(text: string, isError = false): void {
  const notice = { id: ++last, text, isError };
  notices.value = [...notices.value.slice(-2), notice];
  setTimeout(() => dismiss(notice.id), SHOWN_MS);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((each) => each.id !== id);
}

/** Do something and say what came of it; true if it was done. */
export async function attempt(done: string, action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action();
    if (done !== "") tell(done);
    return true;
  } catch (error) {
    tell(said(error), true);
    return false;
  }
}
