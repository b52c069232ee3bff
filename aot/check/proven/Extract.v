(* The checker as OCaml. Trusted: Rocq's extraction, and the lines below, which say that integers
   are those of Zarith (big.ml), and that these functions of it do what Rocq's of the same name do:
   Z, N and positive: succ, pred, add, mul, sub, opp, min, max, div2, eqb, ltb, leb, gcd, to_pos;
   Z: log2 (of numbers above 0) and sqrt (rounded down);
   Z: div and modulo (rounded down; of nothing by 0), shiftl, shiftr (rounded down; by >= 0).
   Basic types (bool, option, list, pairs) are those of OCaml. *)

Require Import Network Certificate Check Point.
From Coq Require Import ZArith NArith Extraction ExtrOcamlBasic.

Extract Inductive positive => "Big.t" [ "Big.doubled_up" "Big.doubled" "Big.one" ] "Big.positive".
Extract Inductive Z => "Big.t" [ "Big.zero" "" "Big.neg" ] "Big.integer".
Extract Inductive N => "Big.t" [ "Big.zero" "" ] "Big.natural".

Extract Inlined Constant Z.succ => "Big.succ".
Extract Inlined Constant Z.pred => "Big.pred".
Extract Inlined Constant Z.add => "Big.add".
Extract Inlined Constant Z.sub => "Big.sub".
Extract Inlined Constant Z.mul => "Big.mul".
Extract Inlined Constant Z.opp => "Big.neg".
Extract Inlined Constant Z.min => "Big.min".
Extract Inlined Constant Z.max => "Big.max".
Extract Inlined Constant Z.eqb => "Big.equal".
Extract Inlined Constant Z.ltb => "Big.lt".
Extract Inlined Constant Z.leb => "Big.leq".
Extract Inlined Constant Z.div => "Big.quotient".
Extract Inlined Constant Z.modulo => "Big.remainder".
Extract Inlined Constant Z.shiftl => "Big.shifted_left".
Extract Inlined Constant Z.shiftr => "Big.shifted_right".
Extract Inlined Constant Z.gcd => "Big.gcd".
Extract Inlined Constant Z.to_pos => "Big.to_positive".
Extract Inlined Constant Z.log2 => "Big.logarithm".
Extract Inlined Constant Z.sqrt => "Big.root".
Extract Inlined Constant Z.of_N => "".
Extract Inlined Constant N.succ => "Big.succ".
Extract Inlined Constant N.pred => "Big.before".
Extract Inlined Constant N.add => "Big.add".
Extract Inlined Constant N.sub => "Big.less".
Extract Inlined Constant N.div2 => "Big.half".
Extract Inlined Constant N.mul => "Big.mul".
Extract Inlined Constant N.eqb => "Big.equal".
Extract Inlined Constant N.ltb => "Big.lt".
Extract Inlined Constant N.leb => "Big.leq".
Extract Inlined Constant Pos.succ => "Big.succ".
Extract Inlined Constant Pos.add => "Big.add".
Extract Inlined Constant Pos.mul => "Big.mul".
Extract Inlined Constant Pos.eqb => "Big.equal".

Extraction "checker.ml" check uses violates.
