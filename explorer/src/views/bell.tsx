/** Local attention over the source: the Gaussian around p_t as a curve, its window as a bracket. */

import { bell } from "../draw/threads";

/** Height of the drawing in pixels. */
export const BELL = 54;

export function Bell(props: {
  focus: number;
  /** The first and last position in the window. */
  span: [number, number] | null;
  /** D where the attention has a Gaussian; null without one. */
  deviation: number | null;
  /** Positions of the source. */
  count: number;
  /** From a position to its x. */
  x: (position: number) => number;
  /** From a position among the pieces to one on the axis. */
  place: (piece: number) => number;
  /** p_t among the pieces. */
  piece: number;
}) {
  const { x, span } = props;
  const floor = BELL - 14;
  const height = floor - 6;
  const points =
    props.deviation === null
      ? []
      : bell(props.piece, props.deviation, -0.5, props.count - 0.5).map(
          ([at, value]) => `${x(props.place(at)).toFixed(1)},${(floor - height * value).toFixed(1)}`,
        );
  const peak = x(props.focus);
  const [left, right] = span ? [x(span[0] - 0.5), x(span[1] + 0.5)] : [0, 0];
  return (
    <g class="bell" aria-hidden="true">
      {points.length > 0 && (
        <>
          <polygon
            class="bell-area"
            points={`${points[0]!.split(",")[0]},${floor} ${points.join(" ")} ${points[points.length - 1]!.split(",")[0]},${floor}`}
          />
          <polyline class="bell-line" points={points.join(" ")} />
        </>
      )}
      <line class="bell-focus" x1={peak} x2={peak} y1={floor - height} y2={floor} />
      <text class="bell-text" x={peak + 4} y={floor - 7} font-style="italic">
        p
        <tspan dy="3" font-size="9">
          t
        </tspan>
      </text>
      {span && (
        <path
          class="bell-window"
          fill="none"
          d={`M${left + 1},${floor + 3}v6H${right - 1}v-6`}
        />
      )}
    </g>
  );
}
