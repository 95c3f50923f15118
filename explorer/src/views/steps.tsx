/** Decoding step by step: what was read, attended to and considered at each step. */

import { useEffect, useId, useMemo, useState } from "preact/hooks";
import type { Candidate, Model, ModelInfo, Result, Step } from "../engine/types";
import { equationsOf } from "../equations";
import { colour, ink } from "../draw/colour";
import { short } from "../draw/threads";
import { labels, moveWeight, rightToLeft } from "../draw/words";
import type { Edits } from "../state";
import { useText } from "../text";
import { measurer, percent, useMedia, useWidth } from "../ui";
import { BELL, Bell } from "./bell";
import { Formula } from "./math";

const PACE = 900; // milliseconds a step while playing

export interface StepsProps {
  info: ModelInfo;
  model: Model | null;
  result: Result;
  /** The sentence, whose direction is that of the source's words. */
  text: string;
  dark: boolean;
  step: number;
  onStep: (step: number) => void;
  edits: Edits;
  onEdit: (part: Partial<Edits>) => void;
}

export function Steps(props: StepsProps) {
  const t = useText();
  const { result, info } = props;
  const steps = result.steps;
  const source = labels(result.translations[0]?.source_tokens ?? []);
  const pieces = labels(steps.map((step) => step.chosen.piece)).map((piece) => shown(piece, t));
  const at = Math.min(props.step, steps.length - 1);
  const step = steps[at];
  if (!step) return <p class="quiet">{t.noSteps}</p>;
  const previous = at === 0 ? t.start : pieces[at - 1]!;
  const window = props.edits.window ?? info.window ?? 1;
  const { banned } = props.edits;
  const forced = (id: number) => [...steps.slice(0, at).map((past) => past.chosen.id), id];
  return (
    <div class="steps">
      <Scrubber at={at} pieces={pieces} onStep={props.onStep} />
      <Written pieces={steps.map((past) => past.chosen.piece)} at={at} onStep={props.onStep} />
      <div class="steps-grid">
        <Diagram info={info} previous={previous} chosen={pieces[at]!} source={source} step={step} dark={props.dark} />
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
          info={info}
          step={step}
          source={source}
          flipped={rightToLeft(props.text.split(/\s+/))}
          dark={props.dark}
          window={window}
          onMove={
            movable(info)
              ? (index, value) =>
                  props.onEdit({
                    attention: {
                      ...props.edits.attention,
                      [at]: moveWeight(step.weights, [index, index + 1], value),
                    },
                  })
              : null
          }
        />
      )}
      {step.memory && step.memory.length > 0 && (
        <Strip title={t.lookBack} words={[t.start, ...pieces].slice(0, step.memory.length)} weights={step.memory} dark={props.dark} />
      )}
      <section aria-label={t.equation} class="equations">
        <h3>{t.equation}</h3>
        {equationsOf({ info, step, source, previous, chosen: pieces[at]!, window }).map((latex) => (
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

/** Whether a model's attention can be replaced. */
export function movable(info: ModelInfo): boolean {
  return info.attention !== "none";
}

/** A piece as a reader should see it; end tokens have a name. */
function shown(piece: string, t: { end: string; start: string }): string {
  if (piece === "</s>") return t.end;
  return piece === "<s>" ? t.start : piece;
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

export function Icon(props: { path: string }) {
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

function Candidates(props: {
  step: Step;
  dark: boolean;
  model: Model | null;
  banned: number[];
  onForce: (id: number) => void;
  onBan: (id: number) => void;
}) {
  const t = useText();
  const { step } = props;
  const top = Math.max(step.candidates[0]?.probability ?? 1, 0.01);
  return (
    <section class="candidates" aria-label={t.candidates}>
      <h3>{t.candidates}</h3>
      <ol>
        {step.candidates.map((candidate) => (
          <Row
            key={candidate.id}
            candidate={candidate}
            share={candidate.probability / top}
            chosen={candidate.id === step.chosen.id}
            banned={props.banned.includes(candidate.id)}
            dark={props.dark}
            onForce={props.onForce}
            onBan={props.onBan}
          />
        ))}
      </ol>
      <Typed model={props.model} onForce={props.onForce} />
    </section>
  );
}

function Row(props: {
  candidate: Candidate;
  share: number;
  chosen: boolean;
  banned: boolean;
  dark: boolean;
  onForce: (id: number) => void;
  onBan: (id: number) => void;
}) {
  const t = useText();
  const { candidate, chosen, banned } = props;
  const [label] = labels([candidate.piece, "▁"]);
  const name = shown(label!, t);
  const share = percentOf(candidate.probability);
  return (
    <li class={chosen ? "chosen" : banned ? "banned" : ""}>
      <button
        type="button"
        class="candidate"
        aria-label={chosen ? t.chosen(name, share) : t.force(name, share)}
        aria-pressed={chosen}
        disabled={banned}
        onClick={() => !chosen && props.onForce(candidate.id)}
      >
        <span class="candidate-word" dir="auto">
          {name}
        </span>{" "}
        <span class="track">
          <span
            class="bar"
            style={{
              width: `${(100 * props.share).toFixed(1)}%`,
              background: colour(chosen ? 0.75 : 0.35, props.dark),
            }}
          />
        </span>
        <span class="candidate-share">{share}</span>
      </button>
      {candidate.piece !== "</s>" && (
        <button
          type="button"
          class="ban"
          aria-label={banned ? t.allow(name) : t.ban(name)}
          title={banned ? t.allow(name) : t.ban(name)}
          onClick={() => props.onBan(candidate.id)}
        >
          <svg width="14" height="14" viewBox="0 0 24 24" aria-hidden="true">
            <g fill="none" stroke="currentColor" stroke-width="2.5">
              <circle cx="12" cy="12" r="9" />
              <path d="M5.6 5.6l12.8 12.8" />
            </g>
          </svg>
        </button>
      )}
    </li>
  );
}

function percentOf(probability: number): string {
  const share = 100 * probability;
  return share >= 9.95 ? `${share.toFixed(0)} %` : share >= 0.1 ? `${share.toFixed(1)} %` : "< 0.1 %";
}

/** Forces a piece that is not among the ten. */
function Typed(props: { model: Model | null; onForce: (id: number) => void }) {
  const t = useText();
  const field = useId();
  const [text, setText] = useState("");
  const [unknown, setUnknown] = useState("");
  const { model } = props;
  if (!model) return null;
  const submit = (event: Event) => {
    event.preventDefault();
    const piece = text.trim();
    if (!piece) return;
    const id = model.id(`▁${piece}`) ?? model.id(piece);
    if (id === undefined) setUnknown(piece);
    else {
      setUnknown("");
      setText("");
      props.onForce(id);
    }
  };
  return (
    <form class="typed" onSubmit={submit}>
      <label for={field}>{t.forceTyped}</label>
      <input
        id={field}
        value={text}
        maxLength={60}
        dir="auto"
        autocomplete="off"
        onInput={(event) => setText((event.target as HTMLInputElement).value)}
      />
      <button type="submit">{t.forceButton}</button>
      <span role="status">{unknown && t.notAPiece(unknown)}</span>
    </form>
  );
}

/** The source with a bar for each piece, to be dragged where attention can be moved. */
function SourceBars(props: {
  info: ModelInfo;
  step: Step;
  source: string[];
  flipped: boolean;
  dark: boolean;
  window: number;
  onMove: ((index: number, value: number) => void) | null;
}) {
  const t = useText();
  const { step, source, dark, onMove } = props;
  const [box, width] = useWidth<HTMLDivElement>(640);
  const measure = useMemo(() => measurer(13), []);
  const [drag, setDrag] = useState<{ index: number; value: number } | null>(null);
  const count = source.length;
  const room = Math.max(26, ...source.map((word) => measure(short(word)) + 12));
  const slot = Math.max(26, Math.min(room, Math.floor(width / Math.max(count, 1))));
  const lean = room > slot;
  const tall = 90;
  const top = step.focus !== null ? BELL : 8;
  const foot = lean ? Math.ceil(Math.max(...source.map((word) => measure(short(word)))) * 0.87) + 14 : 24;
  const total = count * slot + (lean ? 24 : 0);
  const x = (position: number) => {
    const at = (position + 0.5) * slot;
    return props.flipped ? count * slot - at : at;
  };
  const value = (index: number) => (drag?.index === index ? drag.value : (step.weights[index] ?? 0));
  const heightAt = (event: PointerEvent) => {
    const svg = (event.currentTarget as SVGElement).ownerSVGElement!;
    const y = event.clientY - svg.getBoundingClientRect().top;
    return Math.min(1, Math.max(0, (top + tall - y) / tall));
  };
  return (
    <section class="source-bars" aria-label={t.sourceAt} ref={box}>
      <h3>{t.sourceAt}</h3>
      <div class="scroll">
        <svg width={total} height={top + tall + foot} viewBox={`0 0 ${total} ${top + tall + foot}`} data-export="step">
          {step.focus !== null && (
            <Bell
              focus={step.focus}
              span={step.window}
              deviation={props.info.equation === "luong_local" ? props.window : null}
              count={count}
              x={x}
              place={(piece) => piece}
              piece={step.focus}
            />
          )}
          {source.map((word, index) => {
            const w = value(index);
            const middle = x(index);
            const bar = Math.max(1.5, tall * w);
            return (
              <g
                key={index}
                class={`source-bar${onMove ? " movable" : ""}`}
                {...(onMove
                  ? {
                      role: "slider",
                      tabindex: 0,
                      "aria-label": t.slider(word),
                      "aria-valuemin": 0,
                      "aria-valuemax": 100,
                      "aria-valuenow": Math.round(100 * w),
                      "aria-valuetext": percent(w),
                      "aria-orientation": "vertical",
                      onKeyDown: (event: KeyboardEvent) => {
                        const by = { ArrowUp: 0.05, ArrowRight: 0.05, ArrowDown: -0.05, ArrowLeft: -0.05, PageUp: 0.2, PageDown: -0.2 }[event.key];
                        const to = event.key === "Home" ? 0 : event.key === "End" ? 1 : by === undefined ? null : w + by;
                        if (to === null) return;
                        event.preventDefault();
                        onMove(index, Math.min(1, Math.max(0, to)));
                      },
                      onPointerDown: (event: PointerEvent) => {
                        if (event.button !== 0) return;
                        (event.currentTarget as Element).setPointerCapture?.(event.pointerId);
                        setDrag({ index, value: heightAt(event) });
                      },
                      onPointerMove: (event: PointerEvent) => {
                        if (drag?.index === index) setDrag({ index, value: heightAt(event) });
                      },
                      onPointerUp: () => {
                        if (drag) onMove(index, drag.value);
                        setDrag(null);
                      },
                      onPointerCancel: () => setDrag(null),
                    }
                  : {})}
              >
                <rect class="bar-room" x={middle - slot / 2 + 1} y={top} width={slot - 2} height={tall} rx="3" />
                <rect
                  x={middle - slot / 2 + 1}
                  y={top + tall - bar}
                  width={slot - 2}
                  height={bar}
                  rx="2"
                  style={{ fill: colour(0.25 + 0.75 * w, dark) }}
                />
                {w >= 0.05 && (
                  <text
                    class="number"
                    x={middle}
                    y={w > 0.25 ? top + tall - bar + 14 : top + tall - bar - 4}
                    text-anchor="middle"
                    {...(w > 0.25 ? { style: { fill: ink(0.25 + 0.75 * w, dark) } } : {})}
                  >
                    {Math.round(100 * w)}
                  </text>
                )}
                <text
                  class="head"
                  {...(lean
                    ? { transform: `translate(${middle - 4},${top + tall + 12}) rotate(60)` }
                    : { x: middle, y: top + tall + 17, "text-anchor": "middle" })}
                >
                  {short(word)}
                </text>
              </g>
            );
          })}
        </svg>
      </div>
    </section>
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

/** The decoder's step as boxes and arrows. */
function Diagram(props: {
  info: ModelInfo;
  previous: string;
  chosen: string;
  source: string[];
  step: Step;
  dark: boolean;
}) {
  const t = useText();
  const { info, step, dark } = props;
  const still = useMedia("(prefers-reduced-motion: reduce)");
  const attends = info.attention !== "none" && step.weights.length > 0;
  const best = attends ? step.weights.indexOf(Math.max(...step.weights)) : -1;
  const vector = info.equation.startsWith("luong");
  const box = (x: number, y: number, symbol: string, label: string, w: number) => (
    <g>
      <rect x={x} y={y} width="92" height="40" rx="8" class="node" {...(w ? { style: { fill: colour(w, dark), stroke: colour(w, dark) } } : {})} />
      <text x={x + 46} y={y + 18} text-anchor="middle" class="symbol" {...(w ? { style: { fill: ink(w, dark) } } : {})}>
        {symbol}
      </text>
      <text x={x + 46} y={y + 33} text-anchor="middle" class="caption" {...(w ? { style: { fill: ink(w, dark) } } : {})}>
        {label}
      </text>
    </g>
  );
  const state = { transformer: "zₜ", bahdanau: "sᵢ" }[info.equation] ?? "hₜ";
  return (
    <figure class="diagram">
      <svg
        role="img"
        aria-label={t.diagram(props.previous, props.chosen, info.inputFeeding)}
        width="340"
        height="262"
        viewBox="0 0 340 262"
        data-export="diagram"
      >
        <defs>
          <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto">
            <path d="M0,0L8,4L0,8z" class="tip" />
          </marker>
          <marker id="tip-feeding" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto">
            <path d="M0,0L8,4L0,8z" class="tip feeding" />
          </marker>
        </defs>
        <g class="arrows" fill="none">
          <path d="M166,222V187" marker-end="url(#tip)" />
          <path d="M52,164H118" marker-end="url(#tip)" stroke-dasharray="3 3" />
          {vector || !attends ? (
            <path d="M166,144V107" marker-end="url(#tip)" />
          ) : (
            <path d="M166,144V51" marker-end="url(#tip)" />
          )}
          {(vector || !attends) && <path d="M166,64V45" marker-end="url(#tip)" />}
          {attends && vector && <path d="M290,126C290,98 258,86 216,86" marker-end="url(#tip)" />}
          {attends && vector && <path d="M212,170C226,170 226,156 241,154" marker-end="url(#tip)" />}
          {attends && !vector && <path d="M244,156C230,156 230,164 216,164" marker-end="url(#tip)" />}
        </g>
        {info.inputFeeding && (
          <g class="feeding">
            <path
              class={still ? "" : "flows"}
              fill="none"
              d="M30,92C30,170 60,206 118,206Q140,206 140,188"
              marker-end="url(#tip-feeding)"
            />
            <text x="6" y="80" class="symbol">
              h̃ₜ₋₁
            </text>
            <text x="6" y="228" class="caption">
              {t.inputFeeding}
            </text>
          </g>
        )}
        <text x="14" y="169" class="symbol">
          {state.replace("ₜ", "ₜ₋₁").replace("ᵢ", "ᵢ₋₁")}
        </text>
        {box(120, 144, state, t.state, 0)}
        {vector && box(120, 66, "h̃ₜ", t.readout, 0)}
        {!vector && !attends && box(120, 66, "p(y)", t.readout, 0)}
        {attends && box(244, 126, vector ? "cₜ" : "c", t.context, 0)}
        {attends && (
          <g>
            <path d="M290,214V170" class="arrows" fill="none" marker-end="url(#tip)" />
            <text x="290" y="234" text-anchor="middle" class="diagram-word">
              {short(props.source[best] ?? "")}
            </text>
            <text x="290" y="250" text-anchor="middle" class="caption">
              {percent(step.weights[best] ?? 0)}
            </text>
          </g>
        )}
        <text x="166" y="238" text-anchor="middle" class="diagram-word">
          {short(props.previous)}
        </text>
        <text x="166" y="253" text-anchor="middle" class="caption">
          {t.reads}
        </text>
        <text x="166" y="34" text-anchor="middle" class="diagram-word strong">
          {short(props.chosen)}
        </text>
        <text x="166" y="14" text-anchor="middle" class="caption">
          {t.writes} ({percentOf(step.chosen.probability)})
        </text>
      </svg>
    </figure>
  );
}
