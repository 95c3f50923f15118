/** Attention as threads between the words of the source and of the translation. */

import { useId, useMemo, useRef, useState } from "preact/hooks";
import { colour, ink } from "../draw/colour";
import { type Word, layOut, roomOf, thread } from "../draw/threads";
import { type Grid, gridOf, rightToLeft, unitOf } from "../draw/words";
import type { Translation } from "../engine/types";
import type { Unit } from "../state";
import { useText } from "../text";
import { measurer, moved, percent, useWidth } from "../ui";

/** A word that was pointed at. */
export interface Highlight {
  side: "source" | "target";
  index: number;
}

const FAINTEST = 0.03; // the weight from which a thread is drawn
const SIZE = 15;
const SMALL = 11; // of the figures

/** The width that a record's threads need to lie below each other. */
export function roomOfThreads(record: Translation, unit: Unit): number {
  const { columns, rows } = gridOf(record, unitOf(record, unit), []);
  return roomOf(columns, rows, measurer(SIZE));
}

export function Threads(props: {
  name: string;
  grid: Grid;
  /** The sentence, whose direction is that of the source's words. */
  text: string;
  dark: boolean;
  /** The room that the widest of the threads beside each other needs. */
  room: number;
  highlight: Highlight | null;
  onHighlight: (highlight: Highlight | null) => void;
  /** Called with the row of a translated word that was clicked. */
  onChoose: (row: number) => void;
}) {
  const { grid, dark, highlight, onHighlight } = props;
  const t = useText();
  const hint = useId();
  const [box, width] = useWidth<HTMLDivElement>(320);
  const measure = useMemo(() => measurer(SIZE), []);
  const flipped = { source: rightToLeft(props.text.split(/\s+/)), target: rightToLeft(grid.rows) };
  const layout = useMemo(
    () => layOut(grid.columns, grid.rows, width, measure, flipped, props.room),
    [grid, width, measure, flipped.source, props.room],
  );
  const weight = (row: number, column: number) => grid.weights[row]?.[column] ?? 0;
  const near = (row: number, column: number) =>
    !highlight || (highlight.side === "target" ? highlight.index === row : highlight.index === column);

  const threads = [];
  for (let row = 0; row < grid.rows.length; row++) {
    for (let column = 0; column < grid.columns.length; column++) {
      const w = weight(row, column);
      if (w >= FAINTEST) threads.push({ row, column, w, near: near(row, column) });
    }
  }
  // The strongest lie on top.
  threads.sort((a, b) => Number(a.near) - Number(b.near) || a.w - b.w);

  /** The weight between a word and the highlighted one, on the other side. */
  const lit = (side: Highlight["side"], index: number): number | null => {
    if (!highlight || highlight.side === side) return null;
    return side === "source" ? weight(highlight.index, index) : weight(index, highlight.index);
  };
  const partners = (side: Highlight["side"], index: number) => {
    const names = side === "source" ? grid.rows : grid.columns;
    return names
      .map((name, i) => ({ name, w: side === "source" ? weight(i, index) : weight(index, i) }))
      .filter(({ w }) => w >= FAINTEST)
      .sort((a, b) => b.w - a.w)
      .map(({ name, w }) => `${name} ${percent(w)}`)
      .join(", ");
  };

  const words = (side: Highlight["side"], list: Word[], full: string[]) => (
    <Words
      side={side}
      count={list.length}
      vertical={!layout.across}
      flipped={layout.across && flipped[side]}
      render={(index, focusable) => {
        const word = list[index]!;
        const name = full[index]!;
        const w = lit(side, index);
        const self = highlight?.side === side && highlight.index === index;
        const label = side === "source" ? t.sourceWord : t.targetWord;
        return (
          <g
            key={index}
            class={`word${self ? " self" : ""}`}
            role="button"
            aria-label={label(name, partners(side, index))}
            aria-pressed={self}
            {...focusable}
            onMouseEnter={() => onHighlight({ side, index })}
            onMouseLeave={() => onHighlight(null)}
            onFocus={() => onHighlight({ side, index })}
            onBlur={() => onHighlight(null)}
            onClick={() => {
              onHighlight({ side, index });
              if (side === "target") props.onChoose(index);
            }}
          >
            <rect
              {...word.box}
              rx="4"
              class="word-box"
              {...(w !== null && w >= FAINTEST ? { style: { fill: colour(w, dark) } } : {})}
            />
            <text
              x={word.x}
              y={word.y}
              text-anchor={word.anchor}
              {...(w !== null && w >= FAINTEST ? { style: { fill: ink(w, dark) } } : {})}
            >
              {word.text}
            </text>
            {w !== null && w >= FAINTEST && <Weight word={word} side={side} across={layout.across} weight={w} />}
          </g>
        );
      }}
    />
  );

  return (
    <div class="threads" ref={box}>
      <svg
        role="group"
        aria-label={t.threads(props.name)}
        aria-describedby={hint}
        width={layout.width}
        height={layout.height}
        viewBox={`0 0 ${layout.width} ${layout.height}`}
        data-export
      >
        <g aria-hidden="true" fill="none" stroke-linecap="round">
          {threads.map(({ row, column, w, near }) => (
            <path
              key={`${row}.${column}`}
              d={thread(layout.source[column]!, layout.target[row]!, layout.across)}
              class="thread"
              style={{
                stroke: colour(0.3 + 0.6 * w, dark),
                strokeWidth: `${(0.75 + 5.5 * w).toFixed(2)}px`,
                opacity: String(near ? (highlight ? 1 : 0.35 + 0.65 * w) : 0.07),
              }}
            />
          ))}
        </g>
        {words("source", layout.source, grid.columns)}
        {words("target", layout.target, grid.rows)}
      </svg>
      <span id={hint} hidden>
        {t.explain.threads}
      </span>
    </div>
  );
}

/** The number beside a lit word, on a ground that hides the threads below it. */
function Weight(props: { word: Word; side: Highlight["side"]; across: boolean; weight: number }) {
  const { word, side, across } = props;
  const text = percent(props.weight);
  const width = measurer(SMALL)(text) + 4;
  const [x, y] = word.end;
  const left = across ? x - width / 2 : side === "source" ? x + 2 : x - 2 - width;
  const line = across ? y + (side === "source" ? 10 : -4) : y + 4;
  return (
    <g class="weight" aria-hidden="true">
      <rect x={left} y={line - SMALL} width={width} height={SMALL + 4} />
      <text x={left + width / 2} y={line} text-anchor="middle">
        {text}
      </text>
    </g>
  );
}

/** A row of words of which one can be reached by Tab, and the rest by arrow keys. */
function Words(props: {
  side: string;
  count: number;
  vertical: boolean;
  flipped: boolean;
  render: (index: number, focusable: Record<string, unknown>) => unknown;
}) {
  const [current, setCurrent] = useState(0);
  const group = useRef<SVGGElement>(null);
  const active = Math.min(current, props.count - 1);
  const onKeyDown = (event: KeyboardEvent) => {
    let { key } = event;
    if (props.flipped) key = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" }[key] ?? key;
    const to = moved(key, active, props.count, props.vertical);
    if (to === null && (key === "Enter" || key === " ")) {
      event.preventDefault();
      (event.target as SVGElement).dispatchEvent(new MouseEvent("click", { bubbles: true }));
      return;
    }
    if (to === null) return;
    event.preventDefault();
    setCurrent(to);
    (group.current?.children[to] as SVGElement | undefined)?.focus();
  };
  return (
    <g ref={group} onKeyDown={onKeyDown} data-side={props.side}>
      {Array.from({ length: props.count }, (_, index) =>
        props.render(index, { tabindex: index === active ? 0 : -1 }),
      )}
    </g>
  );
}

