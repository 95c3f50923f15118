/** A caption over its picture: a word lights the places that it looks at, a place the words. */

import { useId, useRef, useState } from "preact/hooks";
import { colour, ink } from "../draw/colour";
import type { Grid } from "../draw/words";
import type { Pictures } from "../engine/types";
import { useText } from "../text";
import { moved, percentOf, useWidth } from "../ui";
import { Picture, dimness, mostOf, usePlaces } from "./picture";
import { WeightTable } from "./table";
import type { Highlight } from "./threads";

const MOST = 420; // pixels of a picture's width

export function Caption(props: {
  name: string;
  pictures: Pictures;
  /** The picture's address. */
  picture: string;
  /** Words and places. */
  grid: Grid;
  dark: boolean;
  numbers?: boolean;
  highlight: Highlight | null;
  onHighlight: (highlight: Highlight | null) => void;
  /** The row that is shown while nothing is pointed at, or -1. */
  row: number;
  /** Called with the row of a word that was chosen. */
  onChoose: (row: number) => void;
  onMove?: ((row: number, place: number, value: number) => void) | null;
}) {
  const t = useText();
  const { grid, highlight, onHighlight, pictures, onMove } = props;
  const [box, width] = useWidth<HTMLDivElement>(280);
  const name = usePlaces(pictures.grid);
  const row = highlight?.side === "target" ? highlight.index : props.row;
  const place = highlight?.side === "source" ? highlight.index : null;
  const weights = grid.weights[row] ?? null;
  const looked = (at: number) => t.placeWords(name(at), mostOf(grid.weights.map((one) => one[at] ?? 0), (word) => grid.rows[word]!));
  const describe = (at: number) => (weights ? t.placeWeight(name(at), percentOf(weights[at] ?? 0)) : looked(at));
  return (
    <div class="caption-view" ref={box}>
      <Picture
        label={t.pictured(props.name)}
        picture={props.picture}
        grid={pictures.grid}
        size={pictures.size}
        weights={weights}
        numbers={props.numbers ?? false}
        place={place}
        onPlace={(at) => onHighlight(at === null ? null : { side: "source", index: at })}
        describe={describe}
        onMove={onMove && row >= 0 ? (at, value) => onMove(row, at, value) : null}
        width={Math.min(width, MOST)}
      />
      <Words {...props} row={row} chosen={props.row} place={place} nameOf={name} />
      <p class="readout">{place !== null && looked(place)}</p>
    </div>
  );
}

/** The words, of which one can be reached by Tab, and the rest by arrow keys. */
function Words(props: {
  grid: Grid;
  dark: boolean;
  row: number;
  chosen: number;
  place: number | null;
  nameOf: (place: number) => string;
  onHighlight: (highlight: Highlight | null) => void;
  onChoose: (row: number) => void;
}) {
  const t = useText();
  const { grid, row, place, dark } = props;
  const [current, setCurrent] = useState(0);
  const group = useRef<HTMLDivElement>(null);
  const hint = useId();
  const active = Math.min(current, grid.rows.length - 1);
  const onKeyDown = (event: KeyboardEvent) => {
    const to = moved(event.key, active, grid.rows.length);
    if (to === null) return;
    event.preventDefault();
    setCurrent(to);
    group.current?.querySelectorAll<HTMLElement>("button")[to]?.focus();
  };
  return (
    <div class="caption-words" role="group" aria-label={t.captionWords} aria-describedby={hint} ref={group} onKeyDown={onKeyDown}>
      {grid.rows.map((word, index) => {
        const weights = grid.weights[index] ?? [];
        const most = Math.max(1e-9, ...weights);
        // A word is as strong as the place is clear in its picture.
        const share = place === null ? null : (weights[place] ?? 0) / most;
        return (
          <button
            key={index}
            type="button"
            class={`caption-word${index === row ? " self" : ""}`}
            tabIndex={index === active ? 0 : -1}
            aria-pressed={index === props.chosen}
            aria-label={t.captionWord(word, mostOf(weights, props.nameOf))}
            {...(share !== null && share > 0.02 ? { style: { background: colour(share, dark), color: ink(share, dark) } } : {})}
            onMouseEnter={() => props.onHighlight({ side: "target", index })}
            onMouseLeave={() => props.onHighlight(null)}
            onFocus={() => {
              setCurrent(index);
              props.onHighlight({ side: "target", index });
            }}
            onBlur={() => props.onHighlight(null)}
            onClick={() => props.onChoose(index)}
          >
            {word}
          </button>
        );
      })}
      <span id={hint} hidden>
        {t.explain.caption}
      </span>
    </div>
  );
}

/** A small picture for each word, as the paper's figures have it. */
export function Film(props: {
  pictures: Pictures;
  picture: string;
  grid: Grid;
  row: number;
  onChoose: (row: number) => void;
}) {
  const t = useText();
  const { grid, pictures } = props;
  const [rows, columns] = pictures.grid;
  const high = Math.round((96 * pictures.size[0]) / pictures.size[1]);
  return (
    <div class="film" role="group" aria-label={t.film}>
      {grid.rows.map((word, index) => {
        const weights = grid.weights[index] ?? [];
        const most = Math.max(1e-9, ...weights);
        return (
          <button
            key={index}
            type="button"
            class="frame"
            aria-pressed={index === props.row}
            onClick={() => props.onChoose(index)}
          >
            <svg width="96" height={high} viewBox={`0 0 96 ${high}`} aria-hidden="true">
              <image href={props.picture} width="96" height={high} preserveAspectRatio="none" />
              {weights.map((w, place) => (
                <rect
                  key={place}
                  class="dim"
                  x={((place % columns) * 96) / columns}
                  y={(Math.floor(place / columns) * high) / rows}
                  width={96 / columns}
                  height={high / rows}
                  style={{ opacity: dimness(w / most) }}
                />
              ))}
            </svg>
            <span class="frame-word">{word}</span>{" "}
            <span class="frame-share">{percentOf(most)}</span>
          </button>
        );
      })}
    </div>
  );
}

/** The weights of a row as a table, laid out as the picture is. */
export function PlaceTable(props: { word: string; weights: number[]; grid: [number, number] }) {
  const t = useText();
  const [rows, columns] = props.grid;
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => String(i + 1));
  return (
    <WeightTable
      caption={t.attentionOf(props.word)}
      rows={numbers(rows)}
      columns={numbers(columns)}
      weights={numbers(rows).map((_, row) => props.weights.slice(row * columns, (row + 1) * columns))}
    />
  );
}
