/** What failed, and why; where the page's server is gone, that. */

import { useText } from "../text";

export function Failed(props: { what: string; error: Error; onRetry?: () => void }) {
  const t = useText();
  const { error, onRetry } = props;
  return (
    <div class="failure" role="alert">
      <p>{error.name === "Unreachable" ? t.unreachable : props.what}</p>
      <p class="quiet">{error.message}</p>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          {t.retry}
        </button>
      )}
    </div>
  );
}
