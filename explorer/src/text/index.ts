/** The page's texts, a table a language. */

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { LANGUAGES, type Language } from "../state";
import { type Texts, en } from "./en";
import { zh } from "./zh";

export type { Texts };

export const TEXTS: Record<Language, Texts> = { en, zh };

/** The first of a browser's languages that the page speaks, or English. */
export function languageOf(preferred: readonly string[]): Language {
  const spoken = preferred.map((tag) => LANGUAGES.find((language) => tag.toLowerCase().startsWith(language)));
  return spoken.find(Boolean) ?? "en";
}

export const TextContext = createContext<Texts>(en);

export function useText(): Texts {
  return useContext(TextContext);
}
