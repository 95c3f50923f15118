"""Drawings of models that attend."""

import math

from tools.site.drawings.pen import drawing


@drawing("RNNsearch: the decoder's previous state weighs the annotations", 680, 380)
def bahdanau(d):
    xs = [80, 170, 260, 350]
    words = d.row(xs, 350, [f"x_{t}" for t in range(1, 5)], "input")
    notes = d.row(xs, 280, [f"h_{t}" for t in range(1, 5)], "memory")
    d.arrows(words, notes)
    for one, other in zip(notes, notes[1:], strict=False):
        d.arrow((one.x + 27, 274), (other.x - 27, 274))
        d.arrow((other.x - 27, 286), (one.x + 27, 286))
    scores = d.row(xs, 205, [f"e_{{i{t}}}" for t in range(1, 5)], "attention")
    d.arrows(notes, scores, kind="attend")
    soft = d.box(215, 145, "α_i = softmax(e_i)", "attention", 330, 30)
    for one in scores:
        d.arrow(one, (one.x, 160), kind="attend")
    total = d.circle(215, 85, "Σ", "attention", 34)
    d.arrow(soft, total, kind="attend")
    d.arrow((390, 280), (410, 280), (410, 105), (232, 88), kind="faint")
    d.arrow((377, 280), (390, 280), kind="faint", head=False)
    before, after = d.box(500, 205, "s_{i-1}"), d.box(600, 120, "s_i")
    y = d.box(600, 35, "y_i", "output")
    d.arrow(before, (377, 205), kind="attend")
    d.words(455, 190, "query")
    d.arrow(total, (215, 35), (500, 35), (500, 112), (573, 118))
    d.text(360, 22, "c_i")
    d.chain(before, after, y)
    last = d.box(600, 280, "y_{i-1}", "input")
    d.arrow(last, after)
    d.words(
        500,
        330,
        "e_{ij} = v_a · tanh(s_{i-1} W_a + h_j U_a)\nasked before the step, "
        "with s_{i-1}\ny_i reads y_{i-1} and c_i too",
    )


@drawing("Luong's global attention: asked after the step, with h_t", 680, 330)
def luong_global(d):
    xs = [80, 160, 240, 320]
    source = d.row(xs, 290, [f"x_{t}" for t in range(1, 5)], "input")
    states = d.row(xs, 220, [f"h̄_{t}" for t in range(1, 5)], "memory")
    d.arrows(source, states)
    d.chain(*states)
    weights = d.box(200, 145, "a_t = softmax(score(h_t, h̄_s))", "attention", 300, 32)
    for one in states:
        d.arrow(one, (one.x, 161), kind="attend")
    context = d.circle(200, 75, "Σ", "attention", 34)
    d.arrow(weights, context, kind="attend")
    d.arrow((347, 220), (372, 220), (372, 108), (216, 81), kind="faint")
    word = d.box(520, 290, "y_{t-1}", "input")
    h = d.box(520, 220, "h_t")
    d.arrow(word, h)
    d.arrow((430, 220), h)
    d.text(432, 238, "h_{t-1}", size=13)
    d.arrow(h, (440, 200), (440, 145), weights, kind="attend")
    d.words(437, 128, "query")
    tilde = d.box(520, 100, "h̃_t = tanh([c_t; h_t] W_c)", "state", 230, 34)
    d.arrow(h, tilde)
    d.arrow(context, (380, 75), (404, 92))
    d.text(320, 60, "c_t")
    y = d.box(520, 35, "y_t", "output")
    d.arrow(tilde, y)


@drawing("Local attention: a window of 2D + 1 words around p_t", 700, 340)
def luong_local(d):
    xs = [60 + 56 * n for n in range(11)]
    for top, centre, name in ((16, 4, "local-m: p_t = t"), (136, 5.6, "local-p")):
        row = top + (90 if top < 100 else 140)
        whole = math.floor(centre)
        low, high = xs[whole - 2] - 24, xs[whole + 2] + 24
        d.row(xs, row, [f"h̄_{{{n}}}" for n in range(11)], "memory", width=44, height=30)
        d.frame(low, row - 21, high - low, 42)
        if name == "local-p":
            curve = []
            for n in range(81):
                place = whole - 2 + n / 20
                bell = math.exp(-((place - centre) ** 2) / 2)
                curve.append((60 + 56 * place, row - 26 - 46 * bell))
            d.arrow(*curve, kind="attend", head=False)
            name += ": p_t = S σ(tanh(h_t W_p) · v_p), and a Gaussian of σ = D / 2"
            d.text(60 + 56 * centre, row - 84, "p_t")
        else:
            d.arrow((xs[whole], row - 52), (xs[whole], row - 24), kind="attend")
            d.text(xs[whole], row - 64, "p_t")
        d.words(36, top + 6, name, anchor="start")
    d.words(60 + 56 * 5, 322, "dashed: p_t, rounded down, and D = 2 words to each side")


@drawing("Input feeding: the attentional vector enters the next step", 560, 320)
def input_feeding(d):
    columns = []
    for x, t, before in ((150, "t", "t-1"), (400, "t+1", "t")):
        word = d.box(x - 45, 285, f"y_{{{before}}}", "input")
        h = d.box(x, 205, f"h_{{{t}}}")
        attend = d.box(x, 135, f"attention: c_{{{t}}}", "attention", 120, 32)
        tilde = d.box(x, 70, f"h̃_{{{t}}}", "state")
        y = d.box(x, 18, f"y_{{{t}}}", "output", 54, 28)
        d.arrow(word, h)
        d.arrow(h, attend, kind="attend")
        d.arrow(attend, tilde)
        d.arrow((x - 22, 188), (x - 78, 160), (x - 78, 90), (x - 27, 74))
        d.arrow(tilde, y)
        columns.append((h, tilde))
    (h, tilde), (after, _) = columns
    d.arrow(h, after)
    d.arrow(tilde, (270, 70), (270, 245), (414, 245), (414, 223), kind="attend")
    d.words(263, 167, "input\nfeeding", anchor="end")
    d.words(66, 125, "[c_t; h_t]", anchor="end")
    d.text(62, 190, "h_{t-1}", size=13)
    d.arrow((40, 205), h)


@drawing("The LSTMN: two tapes of past states, and attention over them", 640, 330)
def lstmn(d):
    xs = [110, 185, 260, 335]
    c = d.row(xs, 70, ["c_0", "c_1", "…", "c_{t-1}"], "memory")
    h = d.row(xs, 130, ["h_0", "h_1", "…", "h_{t-1}"], "memory")
    d.words(45, 62, "memory\ntape")
    d.words(45, 122, "hidden\ntape")
    weights = d.box(222, 200, "softmax over the tape", "attention", 300, 32)
    for one in h:
        d.arrow((one.x, 147), (one.x, 184), kind="attend")
    sums = d.box(450, 100, "h̃_t, c̃_t", "attention", 90, 40)
    d.arrow(weights, (450, 200), sums, kind="attend")
    for one in (c[3], h[3]):
        d.arrow(one, (405, 92 if one is c[3] else 108))
    last, x = d.box(160, 290, "h̃_{t-1}"), d.box(284, 290, "x_t", "input")
    for one in (last, x):
        d.arrow(one, (one.x, 216), kind="attend")
    cell = d.box(560, 200, "LSTM\ngates", "gate", 70, 50)
    d.arrow(sums, cell)
    d.arrow((311, 290), (560, 290), cell)
    d.arrow((560, 175), (560, 30), (335, 30), (335, 53))
    d.words(470, 20, "h_t and c_t join the tapes")


@drawing("Show, attend and tell: attention over the places of an image", 680, 290)
def show_attend_tell(d):
    d.frame(30, 60, 160, 160, "image")
    for row in range(4):
        for column in range(4):
            strong = (row, column) in ((1, 2), (1, 1))
            kind = "attention" if strong else "input"
            d.box(50 + 40 * column, 80 + 40 * row, "", kind, 38, 38)
    d.words(110, 240, "a convolutional net makes\nan annotation a_i of each place")
    soft = d.circle(300, 140, "Σ", "attention", 36)
    d.arrow((190, 140), soft, kind="attend")
    d.text(245, 124, "α_{ti}")
    cells = d.row([420, 520, 620], 170, ["h_1", "h_2", "h_3"], "state")
    words = d.row([420, 520, 620], 70, ["a", "red", "circle"], "output", width=64)
    d.arrow(soft, cells[0])
    for number, x, y in ((1, 350, 140), (2, 536, 222), (3, 636, 222)):
        d.text(x, y, f"z_{number}")
    d.arrow((300, 158), (300, 245), (620, 245), head=False)
    d.arrows(cells, words)
    for cell in cells[1:]:
        d.arrow((cell.x, 245), cell)
    d.chain(*cells)
    d.arrow((420, 187), (420, 215), (318, 215), (304, 158), kind="attend")
    d.words(372, 204, "h_{t-1} asks")


@drawing("The Transformer: a stack of encoder and of decoder blocks", 620, 500)
def transformer(d):

    def block(x, side, y, parts):
        nodes = [
            d.box(x, y - 52 * n, text, k, 170, 36) for n, (text, k) in enumerate(parts)
        ]
        d.chain(*nodes)
        for node in nodes:
            low, high = node.y + 24, node.y - 24
            around = (x, low), (side, low), (side, high), (x, high)
            d.arrow(*around, kind="faint", head=False)
        return nodes

    d.frame(40, 215, 240, 145, "encoder, × N")
    d.frame(340, 163, 240, 197, "decoder, × N", "end")
    last = ("feed-forward", "state")
    left = block(160, 50, 325, [("self-attention", "attention"), last])
    attentions = "masked self-attention", "attention to source"
    parts = [*((text, "attention") for text in attentions), last]
    right = block(460, 570, 325, parts)
    for x, nodes, name in ((160, left, "source"), (460, right, "target, shifted")):
        word = d.box(x, 460, f"{name}\n√d E x + PE", "input", 170, 44)
        d.arrow(word, nodes[0])
    memory = d.box(160, 150, "memory", "memory", 90)
    d.arrow(left[-1], memory)
    d.arrow(memory, (310, 150), (310, 273), right[1], kind="attend")
    d.words(314, 205, "K, V", anchor="start")
    softmax = d.box(460, 100, "softmax(x Eᵀ)", "output", 150)
    d.chain(right[-1], softmax, d.box(460, 35, "next word", "output", 100))
    d.words(160, 35, "dashed: residual connections,\nwith a layer norm at each")


@drawing("Multi-head attention: h scaled dot products side by side", 620, 380)
def multi_head(d):
    for x, name in ((150, "Q"), (310, "K"), (470, "V")):
        word = d.box(x, 345, name, "input")
        cut = d.box(x, 280, f"× W^{name}", "state", 80)
        d.arrow(word, cut)
    for shift in (16, 8, 0):
        d.box(310 + shift, 200 - shift, "", "attention", 400, 40)
    d.text(310, 200, "softmax(Q Kᵀ / √d_k) V")
    for x in (150, 310, 470):
        d.arrow((x, 263), (x, 220))
    d.words(545, 186, "h heads", anchor="start")
    join = d.box(310, 115, "[head_1; …; head_h]", "memory", 220)
    output = d.box(310, 45, "× W^O", "output", 90)
    d.chain((310, 164), join, output, (310, 6))


@drawing("Query, keys and values: the view that holds every attention", 640, 240)
def query_key_value(d):
    query = d.box(80, 190, "query", "state", 80)
    keys = d.row([220, 300, 380], 190, ["k_1", "k_2", "k_3"], "memory")
    values = d.row([220, 300, 380], 60, ["v_1", "v_2", "v_3"], "memory")
    weights = d.box(300, 125, "score → softmax", "attention", 220, 32)
    d.arrow(query, (80, 125), weights, kind="attend")
    for key, value in zip(keys, values, strict=True):
        d.arrow(key, (key.x, 141), kind="attend")
        d.arrow((value.x, 109), value, kind="attend")
    total = d.circle(500, 60, "Σ", "attention", 36)
    d.chain((407, 60), total, d.box(580, 60, "c", "output", 44))
    d.words(80, 225, "what is asked")
    d.words(300, 225, "what is compared")
    d.words(300, 28, "what is taken")


@drawing("One attention, six slots: what each paper fills in", 700, 300)
def attention_slots(d):
    query = d.box(78, 130, "query q", "state", 90)
    keys = d.box(78, 215, "keys k_s", "memory", 90)
    values = d.box(420, 240, "values v_s", "memory", 100)
    score = d.box(205, 172, "score\ne_s", "attention", 84, 50)
    window = d.box(320, 172, "window\ns ∈ W", "attention", 84, 50)
    normal = d.box(440, 172, "normaliser\na_s", "attention", 100, 50)
    total = d.circle(560, 172, "Σ", "attention", 36)
    d.arrow(query, score, kind="attend")
    d.chain(keys, score, window, normal, total, kind="attend")
    d.arrow(values, (560, 240), total)
    d.arrow(total, d.box(645, 172, "context c", "output", 96))
    for x, y, text in (
        (78, 96, "which state asks?"),
        (78, 252, "compared with what?"),
        (205, 124, "how? over √d?"),
        (320, 215, "where may it look?"),
        (440, 124, "softmax? × Gaussian?"),
        (420, 277, "what is taken?"),
    ):
        d.words(x, y, text)
    d.words(
        350, 30, "c = Σ a_s v_s with a = normalise(score(q, k_s)) inside the window"
    )
