/** Attention as a table of cells: rows are the translation, columns the source. */

import { useMemo, useRef, useState } from "preact/hooks";
import { colour, ink } from "../draw/colour";
import { short } from "../draw/threads";
import type { Grid } from "../draw/words";
import { useText } from "../text";
import { measurer, moved, percent, useDrag, useWidth } from "../ui";
import { BELL, Bell } from "./bell";
import type { Highlight } from "./threads";

const SIZE = 14;
const LEAST = 18; // of a cell
const MOST = 44;

export function Heatmap(props: {
  name: string;
  grid: Grid;
  dark: boolean;
  numbers: boolean;
  highlight: Highlight | null;
  onHighlight: (highlight: Highlight | null) => void;
  onChoose: (row: number) => void;
  /** Called with a cell's new weight. */
  onMove: (row: number, column: number, value: number) => void;
  /** The row whose local attention is drawn while none is pointed at. */
  row: number;
  /** D of a Gaussian; null without one. */
  deviation: number | null;
  /** p_t among pieces, a row of the grid. */
  pieces: number[] | null;
}) {
  const { grid, dark, highlight } = props;
  const t = useText();
  const [box, width] = useWidth<HTMLDivElement>(640);
  const measure = useMemo(() => measurer(SIZE), []);
  const [current, setCurrent] = useState<[number, number]>([0, 0]);
  const { drag, draggable } = useDrag((cell, value) =>
    props.onMove(...(cell.split(".").map(Number) as [number, number]), value),
  );
  const [pointed, setPointed] = useState<[number, number] | null>(null);
  const svg = useRef<SVGSVGElement>(null);

  const rows = grid.rows.length;
  const columns = grid.columns.length;
  const left = Math.max(24, ...grid.rows.map((word) => measure(short(word)))) + 12;
  const heads = Math.max(24, ...grid.columns.map((word) => measure(short(word))));
  const cell = Math.max(LEAST, Math.min(MOST, Math.floor((width - left - 40) / Math.max(columns, 1))));
  // Words of the source lean, unless they fit.
  const upright = heads < cell - 4;
  const slope = Math.PI / 3;
  const local = grid.focus !== null;
  const top = (upright ? 22 : Math.ceil(heads * Math.sin(slope)) + 14) + (local ? BELL : 0);
  const tail = upright ? 0 : Math.ceil(measure(short(grid.columns[columns - 1] ?? "")) * Math.cos(slope));
  const total = left + columns * cell + Math.max(tail, 8);
  const height = top + rows * cell + 6;
  const x = (position: number) => left + (position + 0.5) * cell;
  const active: [number, number] = [
    Math.min(current[0], rows - 1),
    Math.min(current[1], columns - 1),
  ];
  const shownRow = highlight?.side === "target" ? highlight.index : Math.min(props.row, rows - 1);

  const weight = (row: number, column: number) =>
    drag?.cell === `${row}.${column}` ? drag.value : (grid.weights[row]?.[column] ?? 0);

  const focusCell = (row: number, column: number) => {
    setCurrent([row, column]);
    svg.current?.querySelector<SVGElement>(`[data-cell="${row}.${column}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return; // the browser's zoom, say
    const [row, column] = active;
    const across = moved(event.key, column, columns);
    const down = moved(event.key, row, rows, true);
    if (across !== null) focusCell(row, across);
    else if (down !== null) focusCell(down, column);
    else if (event.key === "Enter" || event.key === " ") props.onChoose(row);
    else if ("+=-−".includes(event.key)) {
      const by = "+=".includes(event.key) ? 0.1 : -0.1;
      props.onMove(row, column, Math.min(1, Math.max(0, weight(row, column) + by)));
    } else return;
    event.preventDefault();
  };

  const describe = ([row, column]: [number, number]) =>
    t.cell(grid.rows[row]!, grid.columns[column]!, percent(weight(row, column)));

  if (!rows || !columns || !grid.weights.length) return <p class="quiet">{t.nothingToAlign}</p>;
  return (
    <div class="heatmap" ref={box}>
      <div class="scroll">
        <svg
          ref={svg}
          role="grid"
          aria-label={t.heatmap(props.name)}
          aria-rowcount={rows + 1}
          aria-colcount={columns + 1}
          width={total}
          height={height}
          viewBox={`0 0 ${total} ${height}`}
          onKeyDown={onKeyDown}
          onMouseLeave={() => {
            setPointed(null);
            props.onHighlight(null);
          }}
          data-export
        >
          <g role="row">
            <text role="columnheader" class="sr-head" x="-999" y="0">
              {t.translation}
            </text>
            {grid.columns.map((word, column) => {
              const at = left + (column + (upright ? 0.5 : 0.62)) * cell;
              const on = highlight?.side === "source" && highlight.index === column;
              return (
                <text
                  key={column}
                  role="columnheader"
                  class={on ? "head on" : "head"}
                  {...(upright
                    ? { x: at, y: top - 8, "text-anchor": "middle" }
                    : { transform: `translate(${at},${top - (local ? BELL : 0) - 6}) rotate(-60)` })}
                  onMouseEnter={() => props.onHighlight({ side: "source", index: column })}
                >
                  {short(word)}
                </text>
              );
            })}
          </g>
          {local && shownRow >= 0 && (
            <g transform={`translate(0,${top - BELL})`}>
              <Bell
                focus={grid.focus![shownRow]!}
                span={grid.windows?.[shownRow] ?? null}
                deviation={props.deviation}
                count={grid.columnSpans[columns - 1]![1]}
                x={x}
                place={grid.place}
                piece={props.pieces?.[shownRow] ?? grid.focus![shownRow]!}
              />
            </g>
          )}
          {grid.rows.map((word, row) => (
            <g role="row" key={row}>
              <text
                role="rowheader"
                class={shownRow === row && highlight?.side === "target" ? "head on" : "head"}
                x={left - 8}
                y={top + row * cell + cell / 2 + 5}
                text-anchor="end"
                onMouseEnter={() => props.onHighlight({ side: "target", index: row })}
                onClick={() => props.onChoose(row)}
              >
                {short(word)}
              </text>
              {grid.columns.map((_, column) => {
                const w = weight(row, column);
                const faded =
                  highlight &&
                  (highlight.side === "target" ? highlight.index !== row : highlight.index !== column);
                const focusable = active[0] === row && active[1] === column;
                return (
                  <g
                    key={column}
                    role="gridcell"
                    data-cell={`${row}.${column}`}
                    tabindex={focusable ? 0 : -1}
                    class={`cell movable${faded ? " faded" : ""}${focusable ? " current" : ""}`}
                    aria-label={describe([row, column])}
                    onMouseEnter={() => {
                      setPointed([row, column]);
                      if (!drag) props.onHighlight({ side: "target", index: row });
                    }}
                    onFocus={() => {
                      setCurrent([row, column]);
                      setPointed([row, column]);
                      props.onHighlight({ side: "target", index: row });
                    }}
                    onBlur={() => {
                      setPointed(null);
                      props.onHighlight(null);
                    }}
                    {...draggable(`${row}.${column}`, w)}
                    onClick={() => setCurrent([row, column])}
                    onDblClick={() => props.onChoose(row)}
                  >
                    <rect
                      x={left + column * cell}
                      y={top + row * cell}
                      width={cell - 1}
                      height={cell - 1}
                      rx="2"
                      style={{ fill: colour(w, dark) }}
                    />
                    {props.numbers && cell >= LEAST && w >= 0.005 && (
                      <text
                        class="number"
                        x={left + column * cell + (cell - 1) / 2}
                        y={top + row * cell + cell / 2 + 3.5}
                        text-anchor="middle"
                        style={{ fill: ink(w, dark) }}
                      >
                        {Math.round(100 * w)}
                      </text>
                    )}
                  </g>
                );
              })}
              {local && (
                <path
                  class="focus-mark"
                  aria-hidden="true"
                  d={focusMark(x(grid.focus![row]!), top + row * cell)}
                />
              )}
            </g>
          ))}
        </svg>
      </div>
      <p class="readout">
        {pointed && pointed[0] < rows && pointed[1] < columns && describe(pointed)}
      </p>
      <p class="quiet hint">{[t.cellHint, t.cellEdit].join(t.space)}</p>
    </div>
  );
}

/** A small triangle that points at p_t from the top of a row. */
function focusMark(x: number, y: number): string {
  return `M${x - 4.5},${y - 1}h9l-4.5,7z`;
}

/** The scale of the colours. */
export function Legend(props: { dark: boolean }) {
  const t = useText();
  return (
    <div class="legend" aria-hidden="true">
      <span>{t.legend}</span> 0
      <svg width="120" height="10" viewBox="0 0 120 10">
        {Array.from({ length: 24 }, (_, i) => (
          <rect key={i} x={i * 5} width="5.2" height="10" style={{ fill: colour(i / 23, props.dark) }} />
        ))}
      </svg>
      1
    </div>
  );
}
