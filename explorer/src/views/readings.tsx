/** What a tagger, a classifier or a language model says: each word, and one of them in full. */

import { colour, ink } from "../draw/colour";
import type { ModelInfo, Reading } from "../engine/types";
import { readingEquation } from "../equations";
import { useText } from "../text";
import { percentOf, shown } from "../ui";
import { Bar } from "./candidates";
import { Formula } from "./math";
import { Strip } from "./steps";

/** The text's words, each with its tag, its class or its probability. */
export function Readings(props: {
  readings: Reading[];
  at: number;
  dark: boolean;
  onChoose: (index: number) => void;
}) {
  const t = useText();
  return (
    <p class="readings" dir="auto">
      {props.readings.map(({ text, candidates, probability }, index) => {
        const best = candidates[0]!;
        const share = probability ?? best.probability;
        return (
          <button
            key={index}
            type="button"
            class="reading"
            aria-pressed={index === props.at}
            onClick={() => props.onChoose(index)}
          >
            <span class="reading-word">{text || t.expected}</span>{" "}
            <span
              class="reading-label"
              style={{ background: colour(share, props.dark), color: ink(share, props.dark) }}
            >
              {probability === null ? shown(best.piece, t) : percentOf(probability)}
            </span>
          </button>
        );
      })}
    </p>
  );
}

/** One reading: what it might have been, and where a look back went. */
export function ReadingPanel(props: {
  info: ModelInfo;
  readings: Reading[];
  at: number;
  dark: boolean;
}) {
  const t = useText();
  const { info, readings, at, dark } = props;
  const reading = readings[at];
  if (!reading) return <p class="quiet">{t.empty}</p>;
  const top = reading.candidates[0]!.probability;
  const task = info.task as "tag" | "classify" | "generate";
  return (
    <>
      <section class="candidates" aria-label={t.readingOf[task](reading.text)}>
        <h3 dir="auto">{t.readingOf[task](reading.text)}</h3>
        <ol>
          {reading.candidates.map(({ id, piece, probability }) => (
            <li key={id} class={piece === reading.text ? "chosen" : ""}>
              <span class="candidate">
                <Bar
                  name={shown(piece, t)}
                  share={percentOf(probability)}
                  width={probability / top}
                  colour={colour(0.5, dark)}
                />
              </span>
            </li>
          ))}
        </ol>
      </section>
      {reading.memory && reading.memory.length > 0 && (
        <Strip
          title={t.lookBack}
          words={[t.start, ...readings.map(({ text }) => text)].slice(0, reading.memory.length)}
          weights={reading.memory}
          dark={dark}
        />
      )}
      <section aria-label={t.equation} class="equations">
        <h3>{t.equation}</h3>
        <Formula latex={readingEquation(info, reading)} />
      </section>
    </>
  );
}
