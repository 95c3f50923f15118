#!/bin/sh
# Trains luong_global, luong_local, bahdanau and transformer as the bundled presets were:
# by their recipes, then with each caption three times an epoch, then also on translations
# of the captions by an ensemble of the four (sequence-level knowledge distillation, Kim &
# Rush 2016, section 3.2). It takes about seventeen hours of a CPU core. Two are not
# exactly repeatable: see the cards of bahdanau and transformer. Results:
# runs/global-taught, runs/local-final, runs/bahdanau-taught, runs/transformer-taught.
#
#     ZOO_DATA_DIR=FOLDER sh recipes/taught.sh    # FOLDER has multi30k/ and tatoeba/
set -eu
export KERAS_BACKEND=torch
captions=$ZOO_DATA_DIR/multi30k sentences=$ZOO_DATA_DIR/tatoeba

further() {  # NAME START OUTPUT EPOCHS RATE WARMUP [OPTION…]
    name=$1 start=$2 output=$3 epochs=$4 rate=$5 warmup=$6
    shift 6
    case $name in luong_*) set -- --set model.readout_dropout=0.2 "$@" ;; esac
    zoo train "$name" --from "$start" --output "$output" --epochs "$epochs" \
        --precision mixed_bfloat16 --set optimizer.learning_rate="$rate" \
        --set optimizer.warmup="$warmup" --set batch.batch_tokens=2048 \
        --set buckets=8 --set model.dropout=0.2 "$@"
}

more_captions() {
    further "$@" --scale small --set 'corpora=[["multi30k",3],["tatoeba",1]]'
}

KERAS_BACKEND=jax zoo train luong_global --scale small --seed 1
KERAS_BACKEND=jax zoo train luong_local --scale small --seed 2
KERAS_BACKEND=jax zoo train bahdanau --scale small --seed 1
KERAS_BACKEND=jax zoo train transformer --scale small --seed 1
more_captions luong_global runs/luong_global-small runs/global 5 2e-3 300
more_captions luong_local runs/luong_local-small runs/local 4 2e-3 300
more_captions bahdanau runs/bahdanau-small runs/bahdanau 5 2e-3 300 \
    --set batch.batch_tokens=1536
more_captions transformer runs/transformer-small runs/transformer 4 1e-3 300 \
    --set batch.batch_tokens=1536 --set buckets=10

# The bundled presets' teachers computed in bfloat16.
zoo translate runs/global,runs/local,runs/bahdanau,runs/transformer \
    --input "$captions/train.en" --output runs/taught.de
# Validation reads the first 500 pairs: captions and sentences alternate. Of a sentence
# with several references all are one text, as when the bundled weights were chosen.
for language in en de; do
    head -n 1000 "$captions/valid.$language" \
        | paste -d '\n' - "$sentences/valid.$language" > "runs/valid.$language"
done

taught() {
    further "$@" --languages en:de \
        --train "$captions/train.en" runs/taught.de \
        --train "$captions/train.en" runs/taught.de \
        --train "$captions/train.en" "$captions/train.de" \
        --train "$sentences/train.en" "$sentences/train.de" \
        --valid runs/valid.en runs/valid.de \
        --test "$captions/test_2016_flickr.en" "$captions/test_2016_flickr.de"
}

taught luong_global runs/global runs/global-taught 3 1e-3 100
taught bahdanau runs/bahdanau runs/bahdanau-taught 2 1.5e-3 100
taught transformer runs/transformer runs/transformer-taught 4 1e-3 100
taught luong_local runs/local runs/local-taught 3 1e-3 100
# Narrows the window from D = 10 to 5, once the model translates.
taught luong_local runs/local-taught runs/local-narrow 1 3e-4 100 --set model.window=5
# Puts every p_t in the middle of the sentence, and trains on. zoo warns that the start
# has no card.
python -c 'import zoo
model = zoo.load("runs/local-narrow")
[v_p] = [v for v in model.variables if v.path.endswith("/v_p")]
v_p.assign(0 * v_p)
model.save_to_preset("runs/local-middle")'
taught luong_local runs/local-middle runs/local-final 2 7e-4 100
