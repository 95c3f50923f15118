/** The picture that captioners read: an example, or one's own. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Pictures } from "../engine/types";
import { MOST_PICTURE, type State, isOwn } from "../state";
import { useText } from "../text";

const TYPES = "image/png,image/jpeg,image/webp";

export function Chooser(props: {
  picture: string;
  /** The newest picture of a visitor's own, shown or not. */
  own: string | null;
  pictures: Pictures;
  onChange: (part: Partial<State>) => void;
}) {
  const t = useText();
  const id = useId();
  const { picture, own, pictures, onChange } = props;
  const [error, setError] = useState<string | null>(null);
  const [over, setOver] = useState(false);
  const newest = useRef(0);
  const [height, width] = pictures.size;

  const take = async (file: File | undefined) => {
    if (!file) return;
    const turn = ++newest.current;
    let read = null;
    let failure = null;
    try {
      read = await pictures.read(file);
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
    }
    if (turn !== newest.current) return; // a newer one was chosen meanwhile
    setError(failure);
    if (read !== null) onChange({ picture: read });
  };
  const choose = (chosen: string) => {
    newest.current++;
    setError(null);
    onChange({ picture: chosen });
  };
  useEffect(() => {
    const onPaste = (event: ClipboardEvent) => {
      const file = event.clipboardData?.files[0];
      if (!file?.type.startsWith("image/")) return;
      event.preventDefault();
      void take(file);
    };
    // A file that is dropped beside it would replace the page.
    const onDrag = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setOver(event.type === "dragover");
      if (event.type === "drop") void take(event.dataTransfer.files[0]);
    };
    const listeners = { paste: onPaste, dragover: onDrag, dragleave: onDrag, drop: onDrag };
    for (const [name, listener] of Object.entries(listeners)) addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) removeEventListener(name, listener as EventListener);
    };
  }, [pictures]);

  const button = (chosen: string, source: string, label: string) => (
    <button
      key={isOwn(chosen) ? "own" : chosen}
      type="button"
      class="thumbnail"
      aria-label={label}
      title={label}
      aria-pressed={picture === chosen}
      onClick={() => choose(chosen)}
    >
      <img src={source} alt="" width={Math.round((72 * width) / height)} height="72" />
    </button>
  );
  return (
    <section
      class={`chooser${over ? " over" : ""}`}
      aria-labelledby={`${id}l`}
    >
      <p class="label" id={`${id}l`}>
        {t.picture}
      </p>
      <div class="thumbnails" role="group" aria-label={t.examples}>
        {pictures.examples.map((source, index) => button(String(index), source, t.examplePicture(index + 1)))}
        {own !== null && button(own, own, t.ownPicture)}
        <label class="file">
          {t.choosePicture}
          <input
            type="file"
            accept={TYPES}
            aria-describedby={`${id}h`}
            onChange={(event) => {
              const field = event.target as HTMLInputElement;
              void take(field.files?.[0]);
              field.value = ""; // so that the same file can be chosen again
            }}
          />
        </label>
      </div>
      <p id={`${id}h`} class="quiet">
        {t.pictureHint(`${width} × ${height}`)}
        {isOwn(picture) && picture.length > MOST_PICTURE && `${t.space}${t.notShared}`}
      </p>
      {error !== null && (
        <div class="failure" role="alert">
          <p>{t.failedPicture}</p>
          <p class="quiet">{error}</p>
        </div>
      )}
    </section>
  );
}
