(* What a certificate holds: choices, none of which needs to be trusted. *)

From Coq Require Import ZArith NArith List.
Require Import Network.

(* Weights are rounded to 2^-weight_bits, values to 2^-value_bits, and coefficients to
   2^-coefficient_bits. *)
Record grid := { weight_bits : N; value_bits : N; coefficient_bits : N }.

(* Which affine sums are bounded backwards: those of which it is of use. *)
Inductive use := Unused | BySign | ByValue.

(* Conditions of the clause with factors (which are not negative); slopes of relaxations, 0 to 128;
   multipliers of the split neurons, from the root on, or none. *)
Record choice := {
  factors : list (N * Z);
  slopes : list (N * Z);
  multipliers : list Z;
}.

(* The places are multiples of 2^-value_bits. *)
Inductive tree :=
  | Leaf (choices : list choice)            (* One for each clause. *)
  | Empty
  | Halve (element : N) (below above : tree)
  | Cut (element : N) (place : Z) (below above : tree)
  | Neuron (relaxation : N) (active inactive : tree)
  | Each (parts : list tree)                (* One for each clause. *)
  | Derive (rest : tree).
