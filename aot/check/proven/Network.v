(* What a certificate says: networks over the real numbers, properties, and what it means that a
   property holds. Who trusts the proven checker reads this file, and the last theorem of Check.v.
   Nothing is proven here.

   Elements are numbered from 0: first the inputs, then one for each row, in their order. A row
   reads earlier elements alone (Check.v refuses others). *)

From Coq Require Import Reals ZArith NArith List.
From Flocq Require Import Core.
Import ListNotations.
Local Open Scope R_scope.

(* A numerator and a denominator. *)
Definition rational := (Z * positive)%type.
Definition real (q : rational) : R := IZR (fst q) / IZR (Zpos (snd q)).

(* A function of one number. A step may read earlier steps, which are numbered from 0. Its value is
   that of the last step. *)
Inductive step :=
  | Argument
  | Constant (q : rational)
  | Add (i j : N)
  | Multiply (i j : N)
  | Maximum (i j : N)
  | Minimum (i j : N)
  | Reciprocal (i : N)
  | Exp (i : N)
  | Log (i : N)
  | Sqrt (i : N)
  | Sin (i : N)
  | Cos (i : N)
  | Atan (i : N)
  | Sigmoid (i : N)
  | Floor (i : N)
  | Round (i : N)   (* Half to even. *)
  | Sign (i : N).
Definition program := list step.

Inductive row :=
  | Affine (terms : list (rational * N)) (bias : rational)
  | Relu (argument : N)
  | Function (formula : program) (argument : N)
  | Product (left right : N).

Record network := { inputs : N; rows : list row }.

(* sum of terms + constant <= 0, or < 0 where it is strict. *)
Record condition := { terms : list (Z * N); constant : rational; strict : bool }.
Definition clause := list condition.
(* The bounds are those of the inputs, in their order. *)
Record case := { lower : list rational; upper : list rational; clauses : list clause }.

(* The meaning of a program: the values of its steps, from those of earlier ones. *)
Definition at_step (done : list R) (i : N) : R := nth (N.to_nat i) done 0.
Definition sign (x : R) : R :=
  if Rlt_dec x 0 then -1 else if Rlt_dec 0 x then 1 else 0.
Definition step_value (s : step) (z : R) (done : list R) : R :=
  match s with
  | Argument => z
  | Constant q => real q
  | Add i j => at_step done i + at_step done j
  | Multiply i j => at_step done i * at_step done j
  | Maximum i j => Rmax (at_step done i) (at_step done j)
  | Minimum i j => Rmin (at_step done i) (at_step done j)
  | Reciprocal i => / at_step done i
  | Exp i => exp (at_step done i)
  | Log i => ln (at_step done i)
  | Sqrt i => sqrt (at_step done i)
  | Sin i => sin (at_step done i)
  | Cos i => cos (at_step done i)
  | Atan i => atan (at_step done i)
  | Sigmoid i => / (1 + exp (- at_step done i))
  | Floor i => IZR (Zfloor (at_step done i))
  | Round i => IZR (ZnearestE (at_step done i))
  | Sign i => sign (at_step done i)
  end.
(* Where a step has a value. *)
Definition step_defined (s : step) (done : list R) : Prop :=
  match s with
  | Reciprocal i => at_step done i <> 0
  | Log i => 0 < at_step done i
  | Sqrt i => 0 <= at_step done i
  | _ => True
  end.
Fixpoint run_steps (p : program) (z : R) (done : list R) : list R :=
  match p with
  | [] => done
  | s :: rest => run_steps rest z (done ++ [step_value s z done])
  end.
Fixpoint steps_defined (p : program) (z : R) (done : list R) : Prop :=
  match p with
  | [] => True
  | s :: rest => step_defined s done /\ steps_defined rest z (done ++ [step_value s z done])
  end.
Definition program_value (p : program) (z : R) : R := last (run_steps p z []) 0.

(* The meaning of a network: the values of all elements. *)
Definition sum (ts : list (rational * N)) (v : N -> R) : R :=
  fold_right (fun t s => real (fst t) * v (snd t) + s) 0 ts.
Definition row_value (r : row) (v : N -> R) : R :=
  match r with
  | Affine ts b => sum ts v + real b
  | Relu i => Rmax (v i) 0
  | Function p i => program_value p (v i)
  | Product i j => v i * v j
  end.
Definition row_defined (r : row) (v : N -> R) : Prop :=
  match r with
  | Function p i => steps_defined p (v i) []
  | _ => True
  end.
Definition extend (v : N -> R) (i : N) (x : R) : N -> R := fun j => if N.eqb j i then x else v j.
Fixpoint run (rs : list row) (i : N) (v : N -> R) : N -> R :=
  match rs with
  | [] => v
  | r :: rest => run rest (N.succ i) (extend v i (row_value r v))
  end.
Definition values (n : network) (x : N -> R) : N -> R := run (rows n) (inputs n) x.
(* Whether all functions of a network have values. *)
Definition defined (n : network) (v : N -> R) : Prop :=
  forall r, In r (rows n) -> row_defined r v.

(* The meaning of a property. *)
Definition integer_sum (ts : list (Z * N)) (v : N -> R) : R :=
  fold_right (fun t s => IZR (fst t) * v (snd t) + s) 0 ts.
Definition left_side (c : condition) (v : N -> R) : R :=
  integer_sum (terms c) v + real (constant c).
Definition holds (v : N -> R) (c : condition) : Prop :=
  if strict c then left_side c v < 0 else left_side c v <= 0.
Definition inside (c : case) (x : N -> R) : Prop :=
  (forall i q, nth_error (lower c) i = Some q -> real q <= x (N.of_nat i)) /\
  (forall i q, nth_error (upper c) i = Some q -> x (N.of_nat i) <= real q).

(* No input of the case's box satisfies all conditions of one of its clauses. *)
Definition excluded (n : network) (c : case) : Prop :=
  forall x, inside c x -> defined n (values n x) ->
  forall cl, In cl (clauses c) -> ~ (forall a, In a cl -> holds (values n x) a).

(* Some input does. *)
Definition violated (n : network) (c : case) : Prop :=
  exists x, inside c x /\ defined n (values n x) /\
  exists cl, In cl (clauses c) /\ forall a, In a cl -> holds (values n x) a.
