(* Tables by numbers, as trees of search, and sparse sums. What is proven needs no order of keys:
   a table that is out of order finds less. *)

From Coq Require Import Reals ZArith NArith List Lra Lia.
Import ListNotations.

Inductive table (A : Type) :=
  | Nothing
  | Fork (left : table A) (key : N) (value : A) (right : table A).
Arguments Nothing {A}.
Arguments Fork {A}.

Fixpoint get {A} (k : N) (t : table A) : option A :=
  match t with
  | Nothing => None
  | Fork l j x r =>
    if N.ltb k j then get k l else if N.eqb k j then Some x else get k r
  end.

(* Replaces what the key has; a key that is not there stays away. *)
Fixpoint set {A} (k : N) (y : A) (t : table A) : table A :=
  match t with
  | Nothing => Nothing
  | Fork l j x r =>
    if N.ltb k j then Fork (set k y l) j x r
    else if N.eqb k j then Fork l j y r
    else Fork l j x (set k y r)
  end.

(* All of first .. first + count - 1 with one value. The depth is at most that of `fuel`. *)
Fixpoint filled {A} (fuel : nat) (first count : N) (x : A) : table A :=
  match fuel with
  | O => Nothing
  | S less =>
    if N.eqb count 0 then Nothing
    else
      let half := N.div2 count in
      let middle := N.add first half in
      Fork (filled less first half x) middle x
        (filled less (N.succ middle) (N.sub count (N.succ half)) x)
  end.
Definition deepest : nat := 40.
#[global] Opaque deepest.   (* So that no proof makes a table of it. *)

Lemma get_set A k (y : A) t j z :
  get j (set k y t) = Some z -> (j = k /\ z = y) \/ get j t = Some z.
Proof.
  induction t as [|l IHl i x r IHr]; simpl; [discriminate|].
  destruct (N.ltb_spec k i) as [H|H]; simpl.
  - destruct (N.ltb_spec j i); auto.
  - destruct (N.eqb_spec k i) as [E|E]; simpl.
    + destruct (N.ltb_spec j i); auto.
      destruct (N.eqb_spec j i); auto.
      intros [= <-]. left. split; congruence.
    + destruct (N.ltb_spec j i); auto.
      destruct (N.eqb_spec j i); auto.
Qed.

Lemma get_filled A fuel first count (x : A) k y :
  get k (filled fuel first count x) = Some y -> y = x.
Proof.
  revert first count; induction fuel as [|fuel IH]; simpl; intros first count; [discriminate|].
  destruct (N.eqb count 0); simpl; [discriminate|].
  destruct (N.ltb k _); [apply IH|].
  destruct (N.eqb k _); [congruence|apply IH].
Qed.

(* Sums of integers times elements. The order of elements is descending; no proof needs it. *)
Inductive sparse :=
  | End
  | Term (element : N) (coefficient : Z) (rest : sparse).

Fixpoint value (s : sparse) (v : N -> R) : R :=
  match s with
  | End => 0
  | Term i a rest => IZR a * v i + value rest v
  end.

Fixpoint scaled (a : Z) (s : sparse) : sparse :=
  match s with
  | End => End
  | Term i w rest => Term i (a * w) (scaled a rest)
  end.

(* The terms of t above element i, and then what f makes of the others. *)
Fixpoint above_first (i : N) (f : sparse -> sparse) (t : sparse) : sparse :=
  match t with
  | End => f End
  | Term j b t' => if N.ltb i j then Term j b (above_first i f t') else f t
  end.

(* a s + t. *)
Fixpoint added_scaled (a : Z) (s t : sparse) : sparse :=
  match s with
  | End => t
  | Term i w s' =>
    match t with
    | End => scaled a s
    | Term j b t' =>
      if N.eqb i j then Term i (a * w + b) (added_scaled a s' t')
      else if N.ltb j i then Term i (a * w) (added_scaled a s' t)
      else
        above_first i
          (fun t =>
            match t with
            | End => Term i (a * w) (added_scaled a s' End)
            | Term j b t' =>
              if N.eqb i j then Term i (a * w + b) (added_scaled a s' t')
              else Term i (a * w) (added_scaled a s' t)
            end) t
    end
  end.
(* s + t, which needs no products. *)
Fixpoint added (s t : sparse) : sparse :=
  match s with
  | End => t
  | Term i w s' =>
    match t with
    | End => s
    | Term j b t' =>
      if N.eqb i j then Term i (w + b) (added s' t')
      else if N.ltb j i then Term i w (added s' t)
      else
        above_first i
          (fun t =>
            match t with
            | End => Term i w (added s' End)
            | Term j b t' =>
              if N.eqb i j then Term i (w + b) (added s' t') else Term i w (added s' t)
            end) t
    end
  end.

Lemma value_scaled a s v : value (scaled a s) v = (IZR a * value s v)%R.
Proof.
  induction s as [|i w s IH]; simpl; [lra|].
  rewrite IH, mult_IZR. lra.
Qed.

Lemma value_above_first i f x v : (forall t, value (f t) v = (x + value t v)%R) ->
  forall t, value (above_first i f t) v = (x + value t v)%R.
Proof.
  intros F. induction t as [|j b t IH]; simpl; [apply F|].
  destruct (N.ltb i j); [|apply F]. simpl. rewrite IH. lra.
Qed.

Lemma value_added_scaled a s v :
  forall t, value (added_scaled a s t) v = (IZR a * value s v + value t v)%R.
Proof.
  induction s as [|i w s IH]; intros t; simpl; [lra|].
  destruct t as [|j b t]; [simpl; rewrite value_scaled, mult_IZR; lra|].
  destruct (N.eqb_spec i j) as [->|_].
  - simpl. rewrite IH, plus_IZR, mult_IZR. lra.
  - destruct (N.ltb j i).
    + simpl. rewrite IH, mult_IZR. simpl. lra.
    + rewrite (value_above_first i _ (IZR a * (IZR w * v i + value s v)) v); [simpl; lra|].
      clear - IH. intros [|j b t]; [simpl; rewrite IH, mult_IZR; simpl; lra|].
      destruct (N.eqb_spec i j) as [->|_]; simpl; rewrite IH, ?plus_IZR, mult_IZR; simpl; lra.
Qed.

Lemma value_added s v : forall t, value (added s t) v = (value s v + value t v)%R.
Proof.
  induction s as [|i w s IH]; intros t; simpl; [lra|].
  destruct t as [|j b t]; [simpl; lra|].
  destruct (N.eqb_spec i j) as [->|_].
  - simpl. rewrite IH, plus_IZR. lra.
  - destruct (N.ltb j i).
    + simpl. rewrite IH. simpl. lra.
    + rewrite (value_above_first i _ (IZR w * v i + value s v) v); [simpl; lra|].
      clear - IH. intros [|j b t]; [simpl; rewrite IH; simpl; lra|].
      destruct (N.eqb_spec i j) as [->|_]; simpl; rewrite IH, ?plus_IZR; simpl; lra.
Qed.

(* A sum of sparse sums, the newest first; each is about twice as long as the one before it, so that
   a term is moved a logarithmic number of times. *)
Definition sums := list sparse.
Definition total (st : sums) (v : N -> R) : R := fold_right (fun s x => value s v + x)%R 0%R st.

(* Whether s has at most twice as many terms as t. *)
Fixpoint no_longer (s t : sparse) : bool :=
  match s, t with
  | End, _ => true
  | Term _ _ End, _ => true
  | Term _ _ (Term _ _ s'), Term _ _ t' => no_longer s' t'
  | _, End => false
  end.

Fixpoint settled (s : sparse) (st : sums) : sums :=
  match st with
  | [] => [s]
  | top :: rest => if no_longer top s then settled (added s top) rest else s :: st
  end.

(* st + a s. *)
Definition push_scaled (a : Z) (s : sparse) (st : sums) : sums :=
  match s, st with
  | End, _ => st
  | _, [] => [scaled a s]
  | _, top :: rest =>
    if no_longer top s then settled (added_scaled a s top) rest else scaled a s :: st
  end.
Definition push (i : N) (a : Z) (st : sums) : sums := settled (Term i a End) st.

(* The coefficient of an element at the heads, and what is left. *)
Fixpoint pop (e : N) (st : sums) : Z * sums :=
  match st with
  | [] => (0%Z, [])
  | s :: rest =>
    let (a, left) := pop e rest in
    match s with
    | End => (a, left)
    | Term i b s' =>
      if N.eqb i e then ((a + b)%Z, match s' with End => left | Term _ _ _ => s' :: left end)
      else (a, s :: left)
    end
  end.

Fixpoint is_head (e : N) (st : sums) : bool :=
  match st with
  | [] => false
  | End :: rest => is_head e rest
  | Term i _ _ :: rest => if N.eqb i e then true else is_head e rest
  end.
(* The same, for elements that are no head most of the time. *)
Definition take (e : N) (st : sums) : Z * sums := if is_head e st then pop e st else (0%Z, st).

Lemma total_settled s st v : total (settled s st) v = (value s v + total st v)%R.
Proof.
  revert s; induction st as [|top rest IH]; intros s; simpl; [lra|].
  destruct (no_longer top s); simpl; [|lra].
  rewrite IH, value_added. simpl. lra.
Qed.

Lemma total_push_scaled a s st v :
  total (push_scaled a s st) v = (IZR a * value s v + total st v)%R.
Proof.
  assert (H : forall s, total
    match st with
    | [] => [scaled a s]
    | top :: rest =>
      if no_longer top s then settled (added_scaled a s top) rest else scaled a s :: st
    end v = (IZR a * value s v + total st v)%R).
  { intros u. destruct st as [|top rest].
    - simpl. rewrite value_scaled. lra.
    - destruct (no_longer top u); simpl.
      + rewrite total_settled, value_added_scaled. lra.
      + rewrite value_scaled. lra. }
  destruct s as [|i w s]; [simpl; lra|]. exact (H (Term i w s)).
Qed.

Lemma total_push i a st v : total (push i a st) v = (IZR a * v i + total st v)%R.
Proof. unfold push. rewrite total_settled. simpl. lra. Qed.

Lemma total_pop e st v a left :
  pop e st = (a, left) -> total st v = (IZR a * v e + total left v)%R.
Proof.
  revert a left; induction st as [|s rest IH]; simpl; intros a left.
  - intros [= <- <-]. simpl. lra.
  - destruct (pop e rest) as [b l]. specialize (IH b l eq_refl). rewrite IH.
    destruct s as [|i c s'].
    + intros [= <- <-]. simpl. lra.
    + destruct (N.eqb_spec i e) as [->|_].
      * intros [= <- <-]. rewrite plus_IZR.
        destruct s'; simpl; lra.
      * intros [= <- <-]. simpl. lra.
Qed.

Lemma total_take e st v a left :
  take e st = (a, left) -> total st v = (IZR a * v e + total left v)%R.
Proof.
  unfold take. destruct (is_head e st); [apply total_pop|]. intros [= <- <-]. lra.
Qed.

Fixpoint at_index {A} (i : N) (l : list A) : option A :=
  match l with
  | [] => None
  | x :: rest => if N.eqb i 0 then Some x else at_index (N.pred i) rest
  end.

Lemma at_index_in A i (l : list A) x : at_index i l = Some x -> In x l.
Proof.
  revert i; induction l as [|y l IH]; simpl; intros i; [discriminate|].
  destruct (N.eqb i 0); [intros [= ->]; auto|]. intros H. right. apply (IH _ H).
Qed.
