export const en = {
  name: "English",
  tag: "en",
  /** Between sentences. */
  space: " ",
  title: "Attention explorer",
  lead: "Type a sentence and watch the classic translation models at work: what each of them reads, what it attends to, and what it nearly said.",
  skip: "Skip to the results",
  language: "Language",
  theme: "Colours",
  themes: { system: "As the system", light: "Light", dark: "Dark" },

  sentence: "Sentence to translate",
  sentenceHint: (most: number) => `At most ${most} characters. It is translated as you type.`,
  tooLong: (most: number) => `Only the first ${most} characters are translated.`,
  examples: "Examples",

  addPreset: "Add a model",
  removePreset: (name: string) => `Remove ${name}`,
  mostPresets: (most: number) => `Up to ${most} models beside each other.`,
  noPresets: "No model is chosen. Add one above.",
  selectPreset: "Look inside",
  selectedPreset: "Shown below",
  loadingList: "Looking for models …",
  failedList: "The models could not be listed.",
  loading: (done: string, total: string) => `Loading: ${done} of ${total}`,
  loadingShort: "Loading …",
  failed: "This model could not be loaded.",
  failedRun: "The model failed on this input.",
  unreachable: "The server of this page does not answer: it was stopped, or the connection is lost.",
  retry: "Try again",
  waiting: "Working …",
  empty: "Type a sentence above.",
  noTranslation: "(an empty text)",
  measured: (milliseconds: string) => `${milliseconds} ms in this browser`,
  greedy: "greedy",
  beamOf: (size: number) => `beam ${size}`,
  translation: "Translation",

  unit: "Show",
  units: { words: "words", pieces: "pieces" },
  threads: (model: string) => `Attention of ${model} as threads between source and translation`,
  sourceWord: (word: string, others: string) =>
    others ? `${word}, source word. Attended to by: ${others}` : `${word}, source word. Nothing attends to it`,
  targetWord: (word: string, others: string) =>
    others ? `${word}, translated word. Attends to: ${others}` : `${word}, translated word. Attends to nothing`,
  noAttention: "This model has no attention: all it knows of the sentence is one vector.",
  nothingToAlign: "Nothing to align.",

  tabs: { attention: "Attention", steps: "Step by step", beam: "Beam" },
  panel: (model: string) => `Inside ${model}`,
  about: { paper: "Paper", lesson: "Lesson", page: "Equations and code" },

  heatmap: (model: string) => `Attention of ${model} as a table: rows are the translation, columns the source`,
  numbers: "Numbers in the cells",
  cell: (target: string, source: string, percent: string) => `${target} attends to ${source}: ${percent}`,
  cellHint: "Point at a cell, or walk through the table with the arrow keys.",
  cellEdit: "Drag a cell up or down, or press + and −, to move attention. On a touch screen, tap the cell first.",
  asTable: "The same as a table of numbers",
  attentionIn: "Attention in %",
  legend: "Attention",
  heads: "Layer and head",
  headsHint: "Each picture is one head's attention. Choose one to see it large and to move its attention alone.",
  meanHead: "Mean over all heads",
  headOf: (layer: number, head: number) => `Layer ${layer}, head ${head}`,
  lookBack: "Looking back at earlier words",

  step: "Step",
  stepOf: (step: number, most: number, word: string) => `Step ${step} of ${most}: ${word}`,
  play: "Play",
  pause: "Pause",
  first: "First step",
  previous: "One step back",
  next: "One step on",
  last: "Last step",
  noSteps: "This model does not decode word by word, or did not record it.",
  candidates: "The likeliest next pieces",
  chosen: (piece: string, percent: string) => `${piece} ${percent}: chosen`,
  force: (piece: string, percent: string) => `${piece} ${percent}: continue with it`,
  ban: (piece: string) => `Never use ${piece}`,
  allow: (piece: string) => `Allow ${piece} again`,
  forceTyped: "Another piece",
  forceButton: "Continue with it",
  notAPiece: (piece: string) => `“${piece}” is not one piece of this model's vocabulary.`,
  reads: "reads",
  state: "state",
  context: "context",
  readout: "attentional state",
  writes: "writes",
  inputFeeding: "input feeding",
  diagram: (previous: string, chosen: string, feeding: boolean) =>
    `The decoder reads ${previous} and writes ${chosen}.${
      feeding ? " The attentional state of the step before enters as well: input feeding." : ""
    }`,
  sourceAt: "What this step attends to",
  slider: (word: string) => `Attention to ${word}`,
  equation: "This step in the paper's equations",
  otherValues: "Other values of this step",
  start: "(start)",
  end: "(end)",

  beamSize: "Beam size",
  lengthPenalty: "Length penalty",
  coveragePenalty: "Coverage penalty",
  showDropped: "Show dropped hypotheses",
  tree: (model: string) => `Beam search of ${model} as a tree`,
  states: { live: "live", finished: "finished", dropped: "dropped" },
  best: "best",
  node: (piece: string, score: string, text: string, state: string) =>
    `${piece} ${score}: ${text}, ${state}`,
  nBest: "N-best list",
  rank: "Rank",
  score: "Score",
  output: "Text",
  noTree: "This model recorded no search.",
  treeHint: "Point at a hypothesis, or walk through the tree with the arrow keys.",

  whatIf: "What if",
  untouched: "Untouched",
  changed: "Changed",
  undoAll: "Undo all",
  undo: (what: string) => `Undo: ${what}`,
  beginsWith: (text: string) => `begins with “${text}”`,
  without: (piece: string) => `without “${piece}”`,
  movedAt: (word: string) => `attention moved at “${word}”`,
  windowIs: (size: number) => `window D = ${size}`,
  window: "Window D",
  sameResult: "The text stays the same.",

  share: "Share",
  copyLink: "Copy link",
  copied: "Copied",
  save: (format: string) => `Save as ${format}`,
  savedJson: "`zoo plot --json FILE` draws the JSON file.",

  explain: {
    threads:
      "Each thread joins a translated word to the source words that the model attended to while writing it; the wider and stronger, the more. Point at a word to single out its threads.",
    heatmap:
      "A row is one translated word, a column one source word. The more a cell stands out, the more attention went there, as in figure 3 of Bahdanau et al.",
    local:
      "Local attention first predicts a position pₜ in the source and then attends to a window around it only. The curve is the Gaussian that favours words near pₜ, the bracket the window [pₜ − D, pₜ + D].",
    monotonic:
      "This local attention assumes that both sentences run in parallel: word t attends to a window around source position t.",
    heads:
      "The Transformer attends several times at once. Each head of each layer has weights of its own, and many of them do not look like an alignment.",
    memory:
      "The LSTMN keeps its earlier states on a tape and attends to them instead of squeezing everything into one memory cell.",
    none: "An encoder-decoder without attention hands over one vector for the whole sentence. Long sentences suffer from it, and that is why attention was invented.",
    steps:
      "The text is written one piece at a time. At each step the model gives every piece of its vocabulary a probability; these are the ten likeliest. Choose another one and see how the text goes on.",
    inputFeeding:
      "Input feeding hands the attentional state on to the next step, so that the model knows what it has already attended to.",
    beam:
      "Beam search keeps the best few hypotheses at every step instead of only one. The length penalty makes up for the fact that longer sentences are less probable.",
    coverage: "The coverage penalty costs hypotheses that left source words unattended.",
    whatIf:
      "Force or ban a word, move the attention or change the window: the rest of the text is written anew, beside the untouched one.",
  },
  /** Sections of the papers, beside their names. */
  sections: {
    attention: {
      bahdanau: "section 3.1",
      luong: "section 3",
      transformer: "section 3.2",
      lstmn: "section 4",
    },
    local: "section 3.2",
    inputFeeding: "section 3.3",
  },
  lessonLink: "lesson",
  siteLink: "equations and code",
};

/** Every language has the same entries. */
export type Texts = typeof en;
