# For the worked examples that train on digits, which source it with their own words: [--sample] [BUILD FOLDER].
# Sets root, build, sample and folder, which is removed at the end.
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
sample=no
[ "${1:-}" != --sample ] || { sample=yes; shift; }
build="${1:-$root/build/release}"
if [ "$sample" = yes ]; then
  # 1,000 digits to train on and 100 others, which come with Podium: enough to see that all runs.
  train_digits="$root/models/data/digits-train" held_out_digits="$root/models/data/digits"
else
  data="${PODIUM_CACHE:-$HOME/.cache/podium}/mnist"
  train_digits="$data/train" held_out_digits="$data/t10k"
  [ -f "$train_digits-images-idx3-ubyte" ] || { echo "error: no digits in $data: run tools/setup --mnist" >&2; exit 1; }
fi
folder="$(mktemp -d)"
trap 'rm -r "$folder"' EXIT
accuracies=()

# train NAME FLAG...: three epochs of $folder/model.onnx.
train() {
  local name="$1" start=$SECONDS
  shift
  echo "$name"
  "$build/podium" train "$folder/model.onnx" --loss-tensor loss --epochs 3 --quiet \
    --input image="$train_digits-images-idx3-ubyte" --target label="$train_digits-labels-idx1-ubyte" \
    --eval-input image="$held_out_digits-images-idx3-ubyte" --eval-target label="$held_out_digits-labels-idx1-ubyte" \
    "$@" | tee "$folder/out"
  printf 'wall time           %d s\n\n' $((SECONDS - start))
  accuracies+=("$(sed -n 's/^epoch 3.*held-out.*accuracy \([0-9.]*\)%.*/\1/p' "$folder/out")")
}

# expect PERCENT: every training came to the same accuracy on the digits held out, of all of MNIST at least that.
expect() {
  [ "$sample" = no ] || set -- 0
  printf '%s\n' "${accuracies[@]}" | awk -v least="$1" '
    NR == 1 {first = $1} $1 != first {differs = 1}
    END {
      if (differs) print "error: the accuracies differ" > "/dev/stderr"
      else if (first < least) print "error: " first "% found, " least "% needed" > "/dev/stderr"
      else print (NR > 1 ? "all " NR " ways of training: " : "") first "% of the digits held out"
      exit differs || first < least
    }'
}
