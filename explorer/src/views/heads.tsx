/** The Transformer's heads as small pictures, of which one is shown large. */

import { useRef } from "preact/hooks";
import type { ModelInfo, Result } from "../engine/types";
import { colour } from "../draw/colour";
import { useText } from "../text";
import { moved } from "../ui";

const SIZE = 64;

/** The weights of one head over all steps that wrote a token. */
export function headWeights(result: Result, layer: number, head: number): number[][] | null {
  const count = result.translations[0]?.tokens.length ?? 0;
  const rows = result.steps.slice(0, count).map((step) => step.heads?.[layer]?.[head]);
  return rows.every((row): row is number[] => !!row) ? rows : null;
}

export function Heads(props: {
  info: ModelInfo;
  result: Result;
  dark: boolean;
  head: [number, number] | null;
  onHead: (head: [number, number] | null) => void;
}) {
  const t = useText();
  const group = useRef<HTMLDivElement>(null);
  const [layers, heads] = props.info.heads ?? [0, 0];
  const choices: ([number, number] | null)[] = [null];
  for (let i = 0; i < layers * heads; i++) choices.push([Math.floor(i / heads), i % heads]);
  const same = (a: [number, number] | null) => String(a) === String(props.head);
  const at = Math.max(0, choices.findIndex(same));
  const onKeyDown = (event: KeyboardEvent) => {
    const below = { ArrowUp: Math.max(0, at - heads), ArrowDown: Math.min(choices.length - 1, at + heads) };
    const to = moved(event.key, at, choices.length) ?? below[event.key as keyof typeof below];
    if (to === undefined) return;
    event.preventDefault();
    props.onHead(choices[to]!);
    group.current?.querySelectorAll<HTMLElement>("[role=radio]")[to]?.focus();
  };
  return (
    <div class="heads" role="radiogroup" aria-label={t.heads} ref={group} onKeyDown={onKeyDown}>
      {choices.map((choice, index) => {
        const label = choice ? t.headOf(choice[0] + 1, choice[1] + 1) : t.meanHead;
        const weights = choice ? headWeights(props.result, ...choice) : props.result.translations[0]?.alignment;
        return (
          <button
            key={index}
            style={choice ? { gridColumn: `${choice[1] + 2}`, gridRow: `${choice[0] + 1}` } : {}}
            type="button"
            role="radio"
            class={choice ? "head-choice" : "head-choice mean"}
            aria-checked={index === at}
            aria-label={label}
            title={label}
            tabIndex={index === at ? 0 : -1}
            onClick={() => props.onHead(choice)}
          >
            <Thumbnail weights={weights ?? []} dark={props.dark} />
            <span aria-hidden="true">{choice ? `${choice[0] + 1}.${choice[1] + 1}` : "∅"}</span>
          </button>
        );
      })}
    </div>
  );
}

function Thumbnail(props: { weights: number[][]; dark: boolean }) {
  const rows = props.weights.length;
  const columns = props.weights[0]?.length ?? 0;
  return (
    <svg width={SIZE} height={SIZE} viewBox={`0 0 ${SIZE} ${SIZE}`} aria-hidden="true" shape-rendering="crispEdges">
      <rect width={SIZE} height={SIZE} style={{ fill: colour(0, props.dark) }} />
      {props.weights.flatMap((row, i) =>
        row.map((weight, j) =>
          weight >= 0.04 ? (
            <rect
              key={`${i}.${j}`}
              x={(j * SIZE) / columns}
              y={(i * SIZE) / rows}
              width={SIZE / columns}
              height={SIZE / rows}
              style={{ fill: colour(weight, props.dark) }}
            />
          ) : null,
        ),
      )}
    </svg>
  );
}
