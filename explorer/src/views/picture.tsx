/** A picture under its grid of places, which attention lights: where there is none, it is dim. */

import { useRef, useState } from "preact/hooks";
import { useText } from "../text";
import { moved, percentOf, useDrag } from "../ui";

/** How dim a place is whose weight is this share of the largest. */
export function dimness(share: number): string {
  // The eye sees shares of brightness: without the root only the peak would be clear.
  return (0.8 * (1 - Math.sqrt(share))).toFixed(3);
}

export function Picture(props: {
  label: string;
  /** The picture's address. */
  picture: string;
  grid: [rows: number, columns: number];
  size: [height: number, width: number];
  /** Of the places, row by row; null for the bare picture. */
  weights: number[] | null;
  numbers: boolean;
  /** The place that is pointed at. */
  place: number | null;
  onPlace: (place: number | null) => void;
  /** Describes a place to a screen reader. */
  describe: (place: number) => string;
  /** Called with a place's new weight; null where attention cannot be moved. */
  onMove?: ((place: number, value: number) => void) | null;
  /** Width in pixels of the drawing. */
  width: number;
}) {
  const { weights, grid, onPlace, onMove } = props;
  const [rows, columns] = grid;
  const [current, setCurrent] = useState(0);
  const svg = useRef<SVGSVGElement>(null);
  const { drag, draggable } = useDrag<number>(onMove ?? null);
  const active = Math.min(current, rows * columns - 1);
  const { width } = props;
  const height = (width * props.size[0]) / props.size[1];
  const [wide, high] = [width / columns, height / rows];
  const weight = (place: number) => (drag?.cell === place ? drag.value : (weights?.[place] ?? 0));
  const most = Math.max(1e-9, ...(weights ?? []).map((_, place) => weight(place)));

  const go = (place: number) => {
    setCurrent(place);
    svg.current?.querySelector<SVGElement>(`[data-place="${place}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return; // the browser's zoom, say
    const [row, column] = [Math.floor(active / columns), active % columns];
    const across = moved(event.key, column, columns);
    const down = moved(event.key, row, rows, true);
    if (across !== null) go(row * columns + across);
    else if (down !== null) go(down * columns + column);
    else if (onMove && "+=-−".includes(event.key)) {
      const by = "+=".includes(event.key) ? 0.1 : -0.1;
      onMove(active, Math.min(1, Math.max(0, weight(active) + by)));
    } else return;
    event.preventDefault();
  };
  return (
    <svg
      ref={svg}
      class="picture"
      role="grid"
      aria-label={props.label}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      onKeyDown={onKeyDown}
      onMouseLeave={() => onPlace(null)}
      data-export
    >
      <image href={props.picture} width={width} height={height} preserveAspectRatio="none" aria-hidden="true" />
      {Array.from({ length: rows }, (_, row) => (
        <g role="row" key={row}>
          {Array.from({ length: columns }, (_, column) => {
            const place = row * columns + column;
            const w = weight(place);
            return (
              <g
                key={column}
                role="gridcell"
                data-place={place}
                tabindex={place === active ? 0 : -1}
                class={`place${onMove ? " movable" : ""}${place === active ? " current" : ""}${props.place === place ? " on" : ""}`}
                aria-label={props.describe(place)}
                onMouseEnter={() => !drag && onPlace(place)}
                onFocus={() => {
                  setCurrent(place);
                  onPlace(place);
                }}
                onBlur={() => onPlace(null)}
                onClick={() => setCurrent(place)}
                {...draggable(place, w)}
              >
                <rect class="dim" x={column * wide} y={row * high} width={wide} height={high} style={{ opacity: weights ? dimness(w / most) : "0" }} />
                <rect class="edge" x={column * wide + 1} y={row * high + 1} width={wide - 2} height={high - 2} />
                {props.numbers && weights && w >= 0.005 && (
                  <text class="place-number" x={(column + 0.5) * wide} y={(row + 0.5) * high + 4} text-anchor="middle">
                    {Math.round(100 * w)}
                  </text>
                )}
              </g>
            );
          })}
        </g>
      ))}
    </svg>
  );
}

/** "row 2, column 3" of a place. */
export function usePlaces([, columns]: [number, number]): (place: number) => string {
  const t = useText();
  return (place) => t.place(Math.floor(place / columns) + 1, (place % columns) + 1);
}

/** The places that have most of a word's attention, with their shares. */
export function mostOf(weights: number[], name: (place: number) => string, count = 3): string {
  return weights
    .map((w, place) => ({ w, place }))
    .sort((a, b) => b.w - a.w)
    .slice(0, count)
    .map(({ w, place }) => `${name(place)} ${percentOf(w)}`)
    .join("; ");
}
