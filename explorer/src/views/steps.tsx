/** Decoding step by step: what was read, attended to and considered at each step. */

import { useEffect, useState } from "preact/hooks";
import { colour, ink } from "../draw/colour";
import { labels, moveWeight, rightToLeft } from "../draw/words";
import type { Model, ModelInfo, Result } from "../engine/types";
import { equationsOf } from "../equations";
import { type Edits, type State, placeOf } from "../state";
import { useText } from "../text";
import { percent, shown } from "../ui";
import { SourceBars } from "./bars";
import { Candidates } from "./candidates";
import { Diagram } from "./diagram";
import { Formula } from "./math";

const PACE = 900; // milliseconds a step while playing

export function Steps(props: {
  info: ModelInfo;
  model: Model | null;
  result: Result;
  /** The sentence, whose direction is that of the source's words. */
  text: string;
  dark: boolean;
  step: number;
  onStep: (step: number) => void;
  /** The head whose attention is shown in place of the mean. */
  head: State["head"];
  edits: Edits;
  onEdit: (part: Partial<Edits>) => void;
}) {
  const t = useText();
  const { result, info, head } = props;
  const steps = result.steps;
  const source = labels(result.translations[0]?.source_tokens ?? []);
  const pieces = labels(steps.map((step) => step.chosen.piece)).map((piece) => shown(piece, t));
  const at = Math.min(props.step, steps.length - 1);
  const step = steps[at];
  if (!step) return <p class="quiet">{t.noSteps}</p>;
  const previous = at === 0 ? t.start : pieces[at - 1]!;
  const window = props.edits.window ?? info.window ?? 1;
  const weights = (head && step.heads?.[head[0]]?.[head[1]]) || step.weights;
  const { attention, banned } = props.edits;
  const moved = Object.keys(attention).some((place) => parseInt(place) === at);
  const move = (index: number, value: number) =>
    props.onEdit({
      attention: { ...attention, [placeOf(at, head)]: moveWeight(weights, [index, index + 1], value) },
    });
  const forced = (id: number) => [...steps.slice(0, at).map((past) => past.chosen.id), id];
  return (
    <div class="steps">
      <Scrubber at={at} pieces={pieces} onStep={props.onStep} />
      <Written pieces={steps.map((past) => past.chosen.piece)} at={at} onStep={props.onStep} />
      <div class="steps-grid">
        <Diagram info={info} previous={previous} chosen={pieces[at]!} source={source} step={step} />
        <Candidates
          step={step}
          dark={props.dark}
          model={props.model}
          banned={banned}
          onForce={(id) =>
            props.onEdit({ prefix: forced(id), banned: banned.filter((other) => other !== id) })
          }
          onBan={(id) => props.onEdit(ban(props.edits, id))}
        />
      </div>
      {info.attention !== "none" && step.weights.length > 0 && (
        <SourceBars
          title={head ? `${t.sourceAt} (${t.headOf(head[0] + 1, head[1] + 1)})` : t.sourceAt}
          step={step}
          weights={weights}
          source={source}
          flipped={rightToLeft(props.text.split(/\s+/))}
          dark={props.dark}
          deviation={info.equation === "luong_local" ? window : null}
          onMove={move}
        />
      )}
      {step.memory && step.memory.length > 0 && (
        <Strip title={t.lookBack} words={[t.start, ...pieces].slice(0, step.memory.length)} weights={step.memory} dark={props.dark} />
      )}
      <section aria-label={t.equation} class="equations">
        <h3>{t.equation}</h3>
        {equationsOf({ info, step, source, previous, chosen: pieces[at]!, window, moved }).map((latex) => (
          <Formula key={latex} latex={latex} />
        ))}
        <Values values={step.values} />
      </section>
    </div>
  );
}

/** Bans a piece, which a forced beginning then can't have; or allows it again. */
function ban(edits: Edits, id: number): Partial<Edits> {
  if (edits.banned.includes(id)) return { banned: edits.banned.filter((other) => other !== id) };
  const at = edits.prefix.indexOf(id);
  return {
    banned: [...edits.banned, id],
    prefix: at < 0 ? edits.prefix : edits.prefix.slice(0, at),
  };
}

function Scrubber(props: { at: number; pieces: string[]; onStep: (step: number) => void }) {
  const t = useText();
  const { at, onStep } = props;
  const last = props.pieces.length - 1;
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return;
    if (at >= last) {
      setPlaying(false);
      return;
    }
    const timer = setTimeout(() => onStep(at + 1), PACE);
    return () => clearTimeout(timer);
  }, [playing, at, last]);
  const play = () => {
    if (!playing && at >= last) onStep(0);
    setPlaying(!playing);
  };
  const button = (label: string, path: string, to: number, off: boolean) => (
    <button type="button" class="icon" aria-label={label} title={label} disabled={off} onClick={() => onStep(to)}>
      <Icon path={path} />
    </button>
  );
  return (
    <div class="scrubber" role="group" aria-label={t.tabs.steps}>
      {button(t.first, "M6 5v14M19 5l-9 7 9 7z", 0, at === 0)}
      {button(t.previous, "M16 5l-9 7 9 7z", at - 1, at === 0)}
      <button
        type="button"
        class="icon play"
        aria-label={playing ? t.pause : t.play}
        title={playing ? t.pause : t.play}
        onClick={play}
      >
        <Icon path={playing ? "M7 5h3v14H7zM14 5h3v14h-3z" : "M7 4l13 8-13 8z"} />
      </button>
      {button(t.next, "M8 5l9 7-9 7z", at + 1, at >= last)}
      {button(t.last, "M18 5v14M5 5l9 7-9 7z", last, at >= last)}
      <input
        type="range"
        aria-label={t.step}
        aria-valuetext={t.stepOf(at + 1, last + 1, props.pieces[at]!)}
        min={0}
        max={last}
        value={at}
        onInput={(event) => onStep(Number((event.target as HTMLInputElement).value))}
      />
      <output>
        {at + 1} / {last + 1}
      </output>
    </div>
  );
}

function Icon(props: { path: string }) {
  return (
    <svg width="18" height="18" viewBox="0 0 24 24" aria-hidden="true">
      <path d={props.path} fill="currentColor" stroke="currentColor" stroke-width="2" stroke-linejoin="round" />
    </svg>
  );
}

/** The translation so far; what is still to come is faint. */
function Written(props: { pieces: string[]; at: number; onStep: (step: number) => void }) {
  const t = useText();
  return (
    <p class="written" dir="auto">
      {props.pieces.map((piece, index) => (
        <button
          key={index}
          type="button"
          tabIndex={-1}
          class={`piece${index === props.at ? " now" : ""}${index > props.at ? " later" : ""}${
            piece.startsWith("▁") || piece === "</s>" ? " begins" : ""
          }`}
          aria-current={index === props.at ? "step" : undefined}
          onClick={() => props.onStep(index)}
        >
          {shown(piece, t).replaceAll("▁", " ").trim() || "␣"}
        </button>
      ))}
    </p>
  );
}

/** Words in the colours of their weights. */
function Strip(props: { title: string; words: string[]; weights: number[]; dark: boolean }) {
  return (
    <section class="strip">
      <h3>{props.title}</h3>
      <p dir="auto">
        {props.words.map((word, index) => {
          const w = props.weights[index] ?? 0;
          return (
            <span
              key={index}
              class="strip-word"
              title={percent(w)}
              style={{ background: colour(w, props.dark), color: ink(w, props.dark) }}
            >
              {word}
            </span>
          );
        })}
      </p>
    </section>
  );
}

function Values(props: { values: Record<string, number> }) {
  const t = useText();
  const entries = Object.entries(props.values);
  if (!entries.length) return null;
  return (
    <details class="values">
      <summary>{t.otherValues}</summary>
      <table>
        <tbody>
          {entries.map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{Number.isFinite(value) ? value.toPrecision(4) : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
