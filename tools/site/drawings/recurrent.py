"""Drawings of recurrent nets and of models with one vector between two of them."""

from tools.site.drawings.pen import drawing


@drawing("A bidirectional RNN, unfolded over four steps", 640, 300)
def birnn(d):
    xs = [140, 260, 380, 500]
    inputs = d.row(xs, 260, [f"x_{t}" for t in range(1, 5)], "input")
    ahead = d.row([x - 22 for x in xs], 185, [f"→h_{t}" for t in range(1, 5)])
    back = d.row([x + 22 for x in xs], 110, [f"←h_{t}" for t in range(1, 5)], "memory")
    outputs = d.row(xs, 35, [f"y_{t}" for t in range(1, 5)], "output")
    for t in range(4):
        d.arrow(inputs[t], ahead[t])
        d.arrow((xs[t] + 22, 243), back[t])
        d.arrow((xs[t] - 22, 168), (xs[t] - 22, 52))
        d.arrow(back[t], outputs[t])
    d.chain((20, 185), *ahead)
    d.chain((600, 110), *back[::-1])
    d.words(48, 150, "reads\nforwards")
    d.words(598, 76, "reads\nbackwards")


@drawing("The LSTM cell: a state that is added to, and three gates", 640, 330)
def lstm(d):
    d.frame(90, 30, 460, 250, "LSTM cell, step t")
    before, after = (40, 75), (610, 75)
    forget, add = d.circle(190, 75, "×", "gate"), d.circle(330, 75, "+", "gate")
    d.chain(before, forget, add, after)
    d.text(40, 56, "c_{t-1}")
    d.text(604, 56, "c_t")
    gates = ["f_t\nσ", "i_t\nσ", "ĉ_t\ntanh", "o_t\nσ"]
    size = {"width": 52, "height": 46}
    f, i, c, o = d.row([190, 290, 370, 450], 200, gates, "gate", **size)
    new = d.circle(330, 130, "×", "gate")
    d.text(480, 120, "tanh")
    out = d.circle(510, 165, "×", "gate")
    d.arrows([f, i, c, new], [forget, new, new, add])
    d.arrow((480, 75), (480, 108))
    d.arrow((480, 132), out)
    d.arrow((450, 177), (450, 165), out)
    d.arrow(out, (610, 165))
    d.text(604, 147, "h_t")
    d.arrow((40, 255), (450, 255), head=False)
    for node in (f, i, c, o):
        d.arrow((node.x, 255), node)
    d.text(40, 238, "h_{t-1}")
    x = d.box(130, 305, "x_t", "input")
    d.arrow(x, (130, 255))
    d.words(330, 305, "each gate reads [h_{t-1}; x_t]")


@drawing("The gated unit of Cho et al.: a reset gate and an update gate", 640, 315)
def gru(d):
    d.frame(90, 30, 460, 230, "GRU, step t")
    d.arrow((40, 75), (300, 75), head=False)
    d.text(40, 56, "h_{t-1}")
    reset = d.circle(190, 130, "×", "gate")
    d.arrow((190, 75), reset)
    r = d.box(130, 200, "r_t\nσ", "gate", 52, 46)
    z = d.box(430, 200, "z_t\nσ", "gate", 52, 46)
    candidate = d.box(290, 165, "h̃_t\ntanh", "state", 60, 46)
    mix = d.circle(430, 75, "", "gate", 40)
    d.text(430, 75, "mix", size=13, kind="words")
    d.arrow((300, 75), mix)
    d.arrow((130, 177), (130, 130), reset)
    d.arrow(reset, candidate)
    d.arrow(candidate, (350, 165), (350, 100), (411, 84))
    d.chain(z, mix, (610, 75))
    d.text(604, 56, "h_t")
    x = d.box(290, 285, "x_t", "input")
    d.arrow(x, candidate)
    d.arrow((290, 245), (130, 245), r)
    d.arrow((290, 245), (430, 245), z)
    d.words(330, 280, "both gates read x_t and h_{t-1}", anchor="start")
    d.words(330, 298, "h_t = z_t h_{t-1} + (1 - z_t) h̃_t", anchor="start")


@drawing("RNN encoder–decoder: one vector c at every step", 680, 270)
def encoder_decoder(d):
    source = d.row([70, 150, 230], 235, ["x_1", "x_2", "x_3"], "input")
    states = d.row([70, 150, 230], 160, ["h_1", "h_2", "h_3"])
    c = d.box(320, 160, "c", "memory", 44, 44)
    decoder = d.row([420, 510, 600], 160, ["s_1", "s_2", "s_3"], "state")
    words = d.row([420, 510, 600], 40, ["y_1", "y_2", "y_3"], "output")
    d.arrows(source, states)
    d.chain(*states, c)
    d.arrow((320, 182), (320, 225), (600, 225), head=False)
    d.arrow((320, 138), (320, 100), (575, 100), head=False)
    for s, y in zip(decoder, words, strict=True):
        d.arrow((s.x, 225), s)
        d.arrow(s, y)
        d.arrow((s.x - 25, 100), (s.x - 15, 57))
    d.chain(*decoder)
    d.arrows(words[:2], decoder[1:], kind="faint")
    d.words(440, 248, "c: the summary of the whole source")


@drawing(
    "seq2seq: the source is read backwards, its last state starts the decoder", 720, 270
)
def seq2seq(d):
    xs = [60, 140, 220]
    source = d.row(xs, 235, ["x_3", "x_2", "x_1"], "input")
    ys = [340, 430, 520, 610]
    fed = d.row(ys, 235, ["start", "y_1", "y_2", "y_3"], "input")
    top = d.row(ys, 35, ["y_1", "y_2", "y_3", "end"], "output")
    size = {"width": 46, "height": 32}
    layers = [d.row([*xs, *ys], y, [""] * 7, **size) for y in (165, 105)]
    d.text(60, 165, "h")
    d.text(60, 105, "h")
    for layer in layers:
        d.chain(*layer)
    d.arrows([*source, *fed], layers[0])
    d.arrows(*layers)
    d.arrows(layers[1][3:], top)
    d.frame(256, 78, 46, 116)
    d.words(262, 46, "v: last states\nof all layers")
    d.words(140, 262, "the source, backwards")


@drawing("Beam search with two places: nodes that leave it are grey", 680, 250)
def beam_search(d):
    size = {"width": 78, "height": 40}
    start = d.box(60, 120, "start\n0.0", "state", **size)
    columns = [
        ["Two\n-0.9", "A\n-1.2", "The\n-2.3"],
        ["dogs\n-1.5", "dog\n-1.9", "pups\n-3.1"],
        ["runs\n-2.2", "run\n-2.6", "play\n-3.9"],
        ["end\n-2.3", "end\n-2.9", "away\n-4.8"],
    ]
    parents = [(0, 0, 0), (0, 1, 0), (1, 0, 0), (0, 1, 1)]
    last, best = [start], (1, 1, 0, 0)
    for column, (texts, above) in enumerate(zip(columns, parents, strict=True)):
        x = 190 + 135 * column
        kept = [d.box(x, 45 + 75 * k, texts[k], "state", **size) for k in range(2)]
        lost = d.box(x, 195, texts[2], "input", **size)
        d.arrow(last[above[2]], lost, kind="faint")
        for k in range(2):
            kind = "attend" if k == best[column] else "flow"
            d.arrow(last[above[k]], kept[k], kind=kind)
        last = kept
    d.words(
        340,
        238,
        "the last word and the total log-probability; orange: what greedy misses",
    )
