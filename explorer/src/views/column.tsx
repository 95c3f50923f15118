/** One model's translation with its threads. */

import { useMemo, useState } from "preact/hooks";
import { gridOf, unitOf } from "../draw/words";
import type { Entry } from "../session";
import type { State } from "../state";
import { useText } from "../text";
import { unbroken } from "../ui";
import { Failed } from "./failed";
import { type Highlight, Threads } from "./threads";

export function Column(props: {
  entry: Entry;
  state: State;
  selected: boolean;
  dark: boolean;
  /** The room that the widest threads of all columns need. */
  room: number;
  /** Weights in place of the mean over heads. */
  weights?: number[][];
  highlight?: Highlight | null;
  onHighlight?: (highlight: Highlight | null) => void;
  onSelect: () => void;
  onRemove: () => void;
  onRetry: () => void;
  onStep: (step: number) => void;
}) {
  const t = useText();
  const { entry, state, selected } = props;
  const { info, run } = entry;
  const [own, setOwn] = useState<Highlight | null>(null);
  const best = run?.result.translations[0];
  const grid = useMemo(
    () => best && gridOf(best, unitOf(best, state.unit), props.weights),
    [best, state.unit, props.weights],
  );
  const milliseconds = run?.result.milliseconds ?? 0;
  return (
    <section class={`column${selected ? " selected" : ""}`} aria-label={info.title}>
      <header>
        <h2>{unbroken(info.title)}</h2>
        <button type="button" class="remove" aria-label={t.removePreset(info.title)} title={t.removePreset(info.title)} onClick={props.onRemove}>
          ×
        </button>
        <p class="name">
          <code>{info.name}</code>
          {info.languages && <span>{info.languages.join(" → ")}</span>}
        </p>
      </header>
      {entry.status === "loading" && <Loading entry={entry} />}
      {entry.error !== null && (
        <Failed what={entry.status === "failed" ? t.failed : t.failedRun} error={entry.error} onRetry={props.onRetry} />
      )}
      {run && best && (
        <>
          <p class={`translation${entry.stale ? " stale" : ""}`} dir="auto" lang={info.languages?.at(-1)} aria-live={selected ? "polite" : "off"}>
            {best.text || <span class="quiet">{run.text.trim() ? t.noTranslation : t.empty}</span>}
          </p>
          <p class="measure">
            {t.measured(milliseconds.toFixed(milliseconds < 10 ? 1 : 0))}
            {" · "}
            {state.beam === 1 ? t.greedy : t.beamOf(state.beam)}
            {run.untouched && <strong class="changed"> · {t.changed}</strong>}
          </p>
        </>
      )}
      {!run && entry.status === "ready" && entry.error === null && <p class="quiet">{t.waiting}</p>}
      {run && grid && best && (
        <div class={entry.stale ? "stale" : ""}>
          {info.attention === "none" ? (
            <p class="quiet">{t.noAttention}</p>
          ) : grid.rows.length && grid.columns.length ? (
            <Threads
              name={info.title}
              grid={grid}
              text={run.text}
              dark={props.dark}
              room={props.room}
              highlight={props.onHighlight ? (props.highlight ?? null) : own}
              onHighlight={props.onHighlight ?? setOwn}
              onChoose={(row) => props.onStep(grid.rowSpans[row]![0])}
            />
          ) : null}
        </div>
      )}
      <button type="button" class="select" aria-pressed={selected} onClick={props.onSelect}>
        {selected ? t.selectedPreset : t.selectPreset}
      </button>
    </section>
  );
}

function Loading(props: { entry: Entry }) {
  const t = useText();
  const { done, total, info } = props.entry;
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
  return (
    <div class="loading">
      <progress aria-label={`${info.title}: ${t.loadingShort}`} value={done} max={total} />
      <span class="quiet">{t.loading(megabytes(done), megabytes(total))}</span>
    </div>
  );
}
