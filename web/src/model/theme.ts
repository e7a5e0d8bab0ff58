import { effect, signal } from "@preact/signals";

const KEY = "spaseq.theme";
const THEMES = ["as the system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

export const theme = signal<Theme>(THEMES.find((each) => each === localStorage.getItem(KEY)) ?? "as the system");

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "as the system";
}

effect(() => {
  localStorage.setItem(KEY, theme.value);
  if (theme.value === "as the system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
});
