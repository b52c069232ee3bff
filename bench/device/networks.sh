# Sourced by the scripts beside it: the networks whose verifiers they measure. `each_network CALL` calls
# CALL MODEL NAME LEAST MOST EPS for each that is here, with least and greatest inputs and the radius of its boxes.
# `work` is a folder for those that are packed.

network() {
  local call=$1 model=$2
  shift 2
  if [[ -e $model.gz ]]; then
    gunzip -c "$model.gz" > "$work/model.onnx"
    model=$work/model.onnx
  fi
  if [[ -e $model ]]; then "$call" "$model" "$@"; else echo "==> $1: not here: $model"; fi
}

each_network() {
  local corpus=${BF_SHARED:-../shared}/corpus layers width
  network "$1" models/collision_avoidance_6x50.onnx "collision avoidance 6x50" -0.5 0.5 0.01
  network "$1" "$corpus/acasxu/onnx/ACASXU_run2a_1_1_batch_2000.onnx" "ACAS Xu" -0.5 0.5 0.01
  for layers in 2 4 6; do
    network "$1" "$corpus/mnist_fc/onnx/mnist-net_256x$layers.onnx" "mnist 256x$layers" 0 1 0.01
  done
  for width in base wide; do
    network "$1" "$corpus/oval21_2021/onnx/cifar_${width}_kw.onnx" "oval21 $width" 0 1 0.004
  done
  network "$1" "$corpus/cifar10_resnet/onnx/resnet_2b.onnx" "resnet_2b" 0 1 0.004
}
