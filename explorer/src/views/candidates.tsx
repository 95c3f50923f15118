/** The likeliest next pieces, to be forced or banned. */

import { useId, useState } from "preact/hooks";
import { colour } from "../draw/colour";
import { labels } from "../draw/words";
import type { Candidate, Model, Step } from "../engine/types";
import { useText } from "../text";
import { percentOf, shown } from "../ui";

export function Candidates(props: {
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
        <Bar name={name} share={share} width={props.share} colour={colour(chosen ? 0.75 : 0.35, props.dark)} />
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

/** A name with its probability as a bar, of a width from 0 to 1, and in figures. */
function Bar(props: { name: string; share: string; width: number; colour: string }) {
  return (
    <>
      <span class="candidate-word" dir="auto">
        {props.name}
      </span>{" "}
      <span class="track">
        <span class="bar" style={{ width: `${(100 * props.width).toFixed(1)}%`, background: props.colour }} />
      </span>{" "}
      <span class="candidate-share">{props.share}</span>
    </>
  );
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
