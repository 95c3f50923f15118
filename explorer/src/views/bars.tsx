/** The source with a bar of attention for each piece, and the curve of p_t. */

import { useMemo } from "preact/hooks";
import { colour, ink } from "../draw/colour";
import { short } from "../draw/threads";
import type { Step } from "../engine/types";
import { useText } from "../text";
import { measurer, percent, useDrag, useWidth } from "../ui";
import { BELL, Bell } from "./bell";

/** The source with a bar for each piece, to be dragged. */
export function SourceBars(props: {
  title: string;
  step: Step;
  weights: number[];
  source: string[];
  flipped: boolean;
  dark: boolean;
  /** D of a Gaussian; null without one. */
  deviation: number | null;
  onMove: (index: number, value: number) => void;
}) {
  const t = useText();
  const { step, source, dark, onMove } = props;
  const [box, width] = useWidth<HTMLDivElement>(640);
  const measure = useMemo(() => measurer(13), []);
  const count = source.length;
  const room = Math.max(26, ...source.map((word) => measure(short(word)) + 12));
  const slot = Math.max(26, Math.min(room, Math.floor(width / Math.max(count, 1))));
  const lean = room > slot;
  const tall = 90;
  const { drag, draggable } = useDrag((index, value) => onMove(Number(index), value), tall);
  const top = step.focus !== null ? BELL : 8;
  const foot = lean ? Math.ceil(Math.max(...source.map((word) => measure(short(word)))) * 0.87) + 14 : 24;
  const total = count * slot + (lean ? 24 : 0);
  const x = (position: number) => {
    const at = (position + 0.5) * slot;
    return props.flipped ? count * slot - at : at;
  };
  const value = (index: number) => (drag?.cell === String(index) ? drag.value : (props.weights[index] ?? 0));
  return (
    <section class="source-bars" aria-label={props.title} ref={box}>
      <h3>{props.title}</h3>
      <div class="scroll">
        <svg width={total} height={top + tall + foot} viewBox={`0 0 ${total} ${top + tall + foot}`} data-export>
          {step.focus !== null && (
            <Bell
              focus={step.focus}
              span={step.window}
              deviation={props.deviation}
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
                class="source-bar movable"
                role="slider"
                tabindex={0}
                aria-label={t.slider(word)}
                aria-valuemin={0}
                aria-valuemax={100}
                aria-valuenow={Math.round(100 * w)}
                aria-valuetext={percent(w)}
                aria-orientation="vertical"
                onKeyDown={(event) => {
                  const by = { ArrowUp: 0.05, ArrowRight: 0.05, ArrowDown: -0.05, ArrowLeft: -0.05, PageUp: 0.2, PageDown: -0.2 }[event.key];
                  const to = event.key === "Home" ? 0 : event.key === "End" ? 1 : by === undefined ? null : w + by;
                  if (to === null) return;
                  event.preventDefault();
                  onMove(index, Math.min(1, Math.max(0, to)));
                }}
                {...draggable(String(index), w)}
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
