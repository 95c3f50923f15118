/** What a visitor changed, and the translation beside the untouched one. */

import type { Result } from "../engine/types";
import { differences, labels } from "../draw/words";
import { type Edits, NO_EDITS } from "../state";
import { useText } from "../text";

export function WhatIf(props: {
  edits: Edits;
  result: Result;
  untouched: Result;
  /** The piece of an id, where a step has shown it. */
  pieceOf: (id: number) => string;
  onEdit: (part: Partial<Edits>) => void;
}) {
  const t = useText();
  const { edits, onEdit } = props;
  const chip = (key: string, text: string, undone: Partial<Edits>) => (
    <li key={key} class="chip">
      <bdi>{text}</bdi>
      <button type="button" aria-label={t.undo(text)} title={t.undo(text)} onClick={() => onEdit(undone)}>
        ×
      </button>
    </li>
  );
  const beginning = edits.prefix.map(props.pieceOf).join("").replaceAll("▁", " ").trim();
  const words = labels(props.result.steps.map((step) => step.chosen.piece));
  return (
    <section class="what-if" aria-label={t.whatIf}>
      <ul class="chips">
        {edits.prefix.length > 0 && chip("p", t.beginsWith(beginning), { prefix: [] })}
        {edits.banned.map((id) =>
          chip(`b${id}`, t.without(labels([props.pieceOf(id), "▁"])[0]!), {
            banned: edits.banned.filter((other) => other !== id),
          }),
        )}
        {Object.keys(edits.attention).map((place) => {
          const { [place]: _, ...rest } = edits.attention;
          const [step, layer, head] = place.split(".").map(Number) as [number, number?, number?];
          const word = t.movedAt(words[step] ?? place);
          const where = head === undefined ? "" : ` (${t.headOf(layer! + 1, head + 1)})`;
          return chip(`a${place}`, word + where, { attention: rest });
        })}
        {edits.window !== null && chip("w", t.windowIs(edits.window), { window: null })}
        <li>
          <button type="button" class="link" onClick={() => onEdit(NO_EDITS)}>
            {t.undoAll}
          </button>
        </li>
      </ul>
      <p class="quiet">{t.explain.whatIf}</p>
      <Comparison before={props.untouched} after={props.result} />
    </section>
  );
}

/** Two translations with the words marked in which they differ. */
export function Comparison(props: { before: Result; after: Result }) {
  const t = useText();
  const [before, after] = [props.before, props.after].map(
    (result) => result.translations[0]?.text.split(/\s+/).filter(Boolean) ?? [],
  ) as [string[], string[]];
  const [gone, come] = differences(before, after);
  const same = !gone.includes(true) && !come.includes(true);
  const line = (words: string[], marks: boolean[], Mark: "del" | "ins") =>
    words.map((word, index) => (
      <span key={index}>
        {index > 0 && " "}
        {marks[index] ? <Mark>{word}</Mark> : word}
      </span>
    ));
  return (
    <dl class="comparison">
      <dt>{t.untouched}</dt>
      <dd dir="auto">{line(before, gone, "del")}</dd>
      <dt>{t.changed}</dt>
      <dd dir="auto">
        {line(after, come, "ins")} {same && <span class="quiet">({t.sameResult})</span>}
      </dd>
    </dl>
  );
}
