"""Where the reference evaluator of the package onnx, ONNX Runtime and ONNX's text differ, or leave something open:
(pattern of the case's name, kinds of walk.py, what is so). docs/reference/disputed.md says it to users."""

import re

WRONG = ("wrong", "disputed", "against the reference alone")
LENIENT = ("runtime refuses", "accepted")

DISPUTED = [(re.compile(pattern), kinds, why) for pattern, kinds, why in [
    # Faults of the reference evaluator; ONNX Runtime and the text agree.
    (r"(Softmax|LogSoftmax|Hardmax)@(1|10|11|12) ", WRONG, "the reference does not join the dimensions from the axis on"),
    (r"BatchNormalization@(9|13) ", WRONG, "the reference normalises by the batch, as in training"),
    (r"LRN@", WRONG, "the reference sums over as many channels as there are batches"),
    (r"LpNormalization@", WRONG, "the reference divides by the sum, not by the sum of sizes"),
    (r"LpPool@.*(ceil_mode|auto_pad)", WRONG, "the reference scales the last window"),
    (r"AveragePool@.*ceil_mode=1", WRONG, "the reference pads where nothing is to be padded"),
    (r"AveragePool@(1|6) .*pad", WRONG, "the reference counts pads, which only count_include_pad of opset 7 does"),
    (r"MaxPool@.*auto_pad=SAME_LOWER", WRONG, "the reference makes too few windows"),
    (r"GlobalMaxPool@.*input 0 rank", WRONG, "the reference does not reduce the last of three dimensions"),
    (r"Gemm@6 .*beta", WRONG, "the reference adds C without beta"),
    (r"PRelu@(1|5|6) form 1", WRONG, "the text has a slope per channel, the reference broadcasts from the right"),
    (r"NegativeLogLikelihoodLoss@.*ignore_index=-1", WRONG, "the reference weighs ignored labels of -1"),
    (r"(GRU|LSTM|RNN)@", WRONG, "the reference leaves out most attributes and lengths"),
    (r"Resize@.*(tf_crop_and_resize|pytorch_half_pixel)", WRONG, "the reference takes the length before it is rounded down"),
    (r"Unique@.*sorted=0", WRONG, "the reference sorts"),
    # Of ONNX Runtime.
    (r"(Max|Average|Lp)Pool@.*dilations=.*auto_pad=SAME", WRONG, "ONNX Runtime leaves the dilations out of the pads"),
    (r"Dropout@(7|9|10|11) ", WRONG, "the mask of inference is false in ONNX Runtime, true elsewhere"),
    # Open.
    (r"Cast(Like)?@", WRONG, "numbers beyond the integer type: ONNX leaves them undefined, here they are only truncated"),
    # Read, since nothing about it is in doubt.
    (r"(Sum|Max|Min|Mean)@6 ", LENIENT, "broadcasting before opset 8"),
    (r"Equal@", LENIENT, "real numbers before opset 11"),
    (r"Flatten@(1|9) .*axis=-", LENIENT, "negative axes before opset 11"),
    (r"STFT@.*(inputs|left out)", LENIENT, "a length that the window or the signal says"),
    (r"TopK@", LENIENT, "the values without the indices"),
    (r"Clip@(6|10) ", LENIENT, "bounds that are crossed"),
    (r"LRN@", LENIENT, "an even number of channels"),
    (r"OneHot@.*input 0 scalar", LENIENT, "a single index"),
    (r"Concat@.*left out", LENIENT, "an empty name at the end"),
    (r"BatchNormalization@1 ", LENIENT, "consumed_inputs says where results may be written"),
    (r"Split@1 ", LENIENT, "lengths that are integers"),
    (r"(De)?[Qq]uantizeLinear@.*block_size", LENIENT, "blocks of a scale that is one number"),
    (r"Dropout@.*one more input", LENIENT, "a ratio of another shape, which inference does not read"),
    (r"(Pad@.*form 14|Pad@.*mode=reflect)", LENIENT, "reflections of reflections"),
    (r"Resize@.*(exclude_outside|keep_aspect_ratio_policy|input . left out)", LENIENT, "attributes of other modes"),
    (r"ReverseSequence@.*time_axis=-", LENIENT, "negative axes"),
    (r"Squeeze@.*input 1 left out", LENIENT, "axes that are left out"),
    (r"(GRU|LSTM|RNN)@.*(layout|hidden_size|form 1([ ;:]|$)|activation|output_sequence)", LENIENT, "what ONNX Runtime leaves out"),
    (r"Cast(Like)?@.*saturate", LENIENT, "an attribute of other types"),
    (r"((Reduce\w+|Squeeze)@.*input 1 scalar|Squeeze@\d+ form 6)", LENIENT, "axes as a scalar, as exporters write them"),
    (r"Attention@.*(scale=0\.0|_num_heads=2|; 2 outputs)", LENIENT, "a scale of 0, heads that the shapes say, keys alone"),
    (r"Scan@.*; input \d (rank \+ 1|scalar)", LENIENT, "bodies whose operators broadcast what they get"),
]]
