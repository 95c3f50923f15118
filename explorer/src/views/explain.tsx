/** A sentence or two beside what they explain, with links to read on. */

import type { ModelInfo } from "../engine/types";
import { type Texts, useText } from "../text";

type Topic = keyof Texts["explain"];

// The lesson about a topic, where it is another one than the model's.
const LESSONS: Partial<Record<Topic, string>> = {
  local: "06_local_attention",
  monotonic: "06_local_attention",
  inputFeeding: "07_input_feeding",
  memory: "08_lstmn",
  heads: "10_transformer",
  none: "01_fixed_vector",
  beam: "12_beam_search",
};

export function Explain(props: { info: ModelInfo; topics: readonly Topic[] }) {
  const t = useText();
  const { info, topics } = props;
  const lesson = topics.map((topic) => LESSONS[topic]).find(Boolean);
  const links: [string | null, string][] = [
    [info.paper, sectionOf(t, info, topics)],
    [lesson ? besides(info, lesson) : info.lesson, t.lessonLink],
    [info.page, t.siteLink],
  ];
  return (
    <p class="explain">
      {topics.map((topic) => t.explain[topic]).join(t.space)}{" "}
      <span class="more">
        {links
          .filter(([address]) => address)
          .map(([address, text], index) => (
            <span key={text}>
              {index > 0 && " · "}
              <a href={address!}>{text}</a>
            </span>
          ))}
      </span>
    </p>
  );
}

/** The address of another lesson of the same site. */
function besides(info: ModelInfo, lesson: string): string | null {
  return info.lesson && info.lesson.replace(/[^/]+?(\.\w+)?$/, (_, ending = "") => lesson + ending);
}

function sectionOf(t: Texts, info: ModelInfo, topics: readonly Topic[]): string {
  const paper = info.title.split(",")[0]!;
  if (topics.includes("local") || topics.includes("monotonic")) return `${paper}, ${t.sections.local}`;
  if (topics.includes("inputFeeding")) return `${paper}, ${t.sections.inputFeeding}`;
  if (topics.includes("beam") || topics.includes("none")) return paper;
  const family = info.equation.split("_")[0]!;
  const sections: Record<string, string> = t.sections.attention;
  return family in sections ? `${paper}, ${sections[family]}` : paper;
}
