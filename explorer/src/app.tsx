/** The page: a sentence, up to four models beside each other, and the inside of one. */

import { useCallback, useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { Engine } from "./engine/types";
import { Session } from "./session";
import {
  type Edits,
  LANGUAGES,
  type Language,
  MOST_MODELS,
  MOST_TEXT,
  type State,
  type Theme,
  change,
  decode,
  edit,
  encode,
} from "./state";
import { TEXTS, TextContext, languageOf, useText } from "./text";
import { markScrolling, useMedia } from "./ui";
import { Column } from "./views/column";
import { Failed } from "./views/failed";
import { headWeights } from "./views/heads";
import { Panel } from "./views/panel";
import { type Highlight, roomOfThreads } from "./views/threads";

// Shown at first, as far as they are there.
const FIRST = ["luong_local", "bahdanau"];

const EXAMPLES = [
  "A little girl is playing with a ball in the park.",
  "Two men in red shirts are cooking in a small kitchen.",
  "The woman who is wearing a green hat is riding a bike.",
  "A black dog jumps over a fence into the water.",
];
const DATES = ["Saturday, 5 May 2001", "3.10.1990", "le 14 juillet 1989", "12 de octubre de 1492"];

/** Drops models that do not exist; without any left, chooses two. */
function shown(state: State, session: Session): State {
  if (!session.entries) return state; // until they are there
  const known = [...session.entries.keys()];
  const wanted = state.models.filter((name) => known.includes(name));
  const first = [...FIRST.filter((name) => known.includes(name)), ...known];
  const models = wanted.length ? wanted : [...new Set(first)].slice(0, 2);
  return change(state, { models, head: state.head });
}

export function App(props: { engine: Engine }) {
  const { engine } = props;
  const [state, setState] = useState(() => decode(location.hash));
  const [, redraw] = useState(0);
  const session = useMemo(() => new Session(engine, () => redraw((n) => n + 1)), [engine]);
  const [highlight, setHighlight] = useState<Highlight | null>(null);
  const system = useMedia("(prefers-color-scheme: dark)");
  const dark = state.theme ? state.theme === "dark" : system;
  const language = state.language ?? languageOf(navigator.languages ?? []);
  const t = TEXTS[language];

  const onChange = useCallback((part: Partial<State>) => setState((old) => change(old, part)), []);

  useEffect(() => {
    void session.start().then(() => setState((old) => shown(old, session)));
    return () => session.stop();
  }, [session]);

  useEffect(() => {
    if (!session.entries) return;
    history.replaceState(null, "", `#${encode(state)}`);
    session.follow(state);
  }, [session, session.entries, state]);

  useEffect(() => {
    const onHash = () => setState(shown(decode(location.hash), session));
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, [session]);

  useEffect(() => markScrolling(document.body), []);

  useEffect(() => {
    const root = document.documentElement;
    root.lang = t.tag;
    if (state.theme) root.dataset.theme = state.theme;
    else delete root.dataset.theme;
    document.title = t.title;
  }, [t, state.theme]);

  const entries = state.models.flatMap((name) => session.entries?.get(name) ?? []);
  const chosen = entries[state.selected];
  const result = chosen?.run?.result;
  const weights = useMemo(
    () => (result && state.head && headWeights(result, ...state.head)) || undefined,
    [result, state.head],
  );
  // All threads lie the same way: that of the widest.
  const room = Math.max(
    0,
    ...entries.map(({ info, run }) => {
      const best = run?.result.translations[0];
      return best && info.attention !== "none" ? roomOfThreads(best, state.unit) : 0;
    }),
  );
  return (
    <TextContext.Provider value={t}>
      <a class="skip" href="#translations" onClick={skip}>
        {t.skip}
      </a>
      <header class="top">
        <div>
          <h1>{t.title}</h1>
          <p class="lead">{t.lead}</p>
        </div>
        <Settings state={state} language={language} onChange={onChange} />
      </header>
      <main>
        <Sentence
          state={state}
          examples={entries.some(({ info }) => info.name.includes("dates")) ? [...DATES, EXAMPLES[0]!] : EXAMPLES}
          onChange={onChange}
        />
        {session.error !== null && <Failed what={t.failedList} error={session.error} />}
        {!session.entries && session.error === null && <p class="quiet">{t.loadingList}</p>}
        {session.entries && (
          <Presets state={state} names={[...session.entries.values()].map(({ info }) => info)} onChange={onChange} />
        )}
        <div id="translations" class="columns" tabIndex={-1}>
          {entries.map((entry, index) => {
            const selected = index === state.selected;
            return (
              <Column
                key={entry.info.name}
                entry={entry}
                state={state}
                selected={selected}
                dark={dark}
                room={room}
                onSelect={() => onChange({ selected: index })}
                onRemove={() =>
                  onChange({
                    models: state.models.filter((name) => name !== entry.info.name),
                    selected: index < state.selected ? state.selected - 1 : state.selected,
                  })
                }
                onRetry={() => session.retry(entry.info.name)}
                onStep={(step) => onChange({ selected: index, step, head: selected ? state.head : null })}
                {...(selected ? { weights, highlight, onHighlight: setHighlight } : {})}
              />
            );
          })}
        </div>
        {entries.some(({ run, info }) => run?.result.translations.length && info.attention !== "none") && (
          <p class="below quiet">{t.explain.threads}</p>
        )}
        {session.entries && !entries.length && <p class="quiet">{t.noPresets}</p>}
        {chosen && (
          <Panel
            key={chosen.info.name}
            entry={chosen}
            state={state}
            dark={dark}
            weights={weights}
            highlight={highlight}
            onHighlight={setHighlight}
            onChange={onChange}
            onEdit={(part: Partial<Edits>) => setState((old) => edit(old, chosen.info.name, part))}
          />
        )}
      </main>
    </TextContext.Provider>
  );
}

/** Moves to the translations; the address keeps the state. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("translations")?.focus();
}

function Settings(props: { state: State; language: Language; onChange: (part: Partial<State>) => void }) {
  const t = useText();
  const id = useId();
  const choice = (key: string, name: string, value: string, texts: [string, string, string?][], onValue: (value: string) => void) => (
    <>
      <label for={id + key}>{name}</label>
      <select id={id + key} value={value} onChange={(event) => onValue((event.target as HTMLSelectElement).value)}>
        {texts.map(([key, text, lang]) => (
          <option key={key} value={key} lang={lang}>
            {text}
          </option>
        ))}
      </select>
    </>
  );
  return (
    <div class="settings">
      {choice(
        "l",
        t.language,
        props.language,
        LANGUAGES.map((language) => [language, TEXTS[language].name, TEXTS[language].tag]),
        (value) => props.onChange({ language: value as Language }),
      )}
      {choice("t", t.theme, props.state.theme ?? "system", Object.entries(t.themes), (value) =>
        props.onChange({ theme: value === "system" ? null : (value as Theme) }),
      )}
    </div>
  );
}

function Sentence(props: { state: State; examples: string[]; onChange: (part: Partial<State>) => void }) {
  const t = useText();
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const [long, setLong] = useState(false);
  const { text } = props.state;
  useEffect(() => {
    const area = field.current;
    if (!area) return;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, 240)}px`;
  }, [text]);
  const put = (value: string) => {
    setLong(value.length > MOST_TEXT);
    props.onChange({ text: value });
  };
  return (
    <section class="sentence">
      <label for={id}>{t.sentence}</label>
      <textarea
        id={id}
        ref={field}
        rows={1}
        dir="auto"
        spellcheck={false}
        value={text}
        aria-describedby={`${id}h`}
        onInput={(event) => put((event.target as HTMLTextAreaElement).value)}
      />
      <p id={`${id}h`} class="quiet" role={long ? "alert" : undefined}>
        {long ? t.tooLong(MOST_TEXT) : t.sentenceHint(MOST_TEXT)}
      </p>
      <div class="examples" role="group" aria-label={t.examples}>
        {props.examples.map((example) => (
          <button key={example} type="button" dir="auto" aria-pressed={example === text} onClick={() => put(example)}>
            {example}
          </button>
        ))}
      </div>
    </section>
  );
}

function Presets(props: {
  state: State;
  names: { name: string; title: string }[];
  onChange: (part: Partial<State>) => void;
}) {
  const t = useText();
  const id = useId();
  const { models } = props.state;
  const others = props.names.filter(({ name }) => !models.includes(name));
  const full = models.length >= MOST_MODELS;
  if (!others.length) return null;
  return (
    <div class="presets">
      <label for={id}>{t.addPreset}</label>
      <select
        id={id}
        value=""
        disabled={full}
        onChange={(event) => {
          const select = event.target as HTMLSelectElement;
          if (select.value) props.onChange({ models: [...models, select.value], selected: models.length });
          select.value = "";
        }}
      >
        <option value="">{full ? t.mostPresets(MOST_MODELS) : "…"}</option>
        {others.map(({ name, title }) => (
          <option key={name} value={name}>
            {title} ({name})
          </option>
        ))}
      </select>
    </div>
  );
}
