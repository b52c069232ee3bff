(* Points that violate a property, by rational numbers, or by intervals where a function is
   irrational: `violates_sound`, the last theorem. *)

From Coq Require Import Reals ZArith NArith List Lra Lia Bool.
Require Import Network Certificate Table Bounds Functions Lines Check.
Import ListNotations.
Local Open Scope Z_scope.

Definition reduced (n : Z) (d : positive) : rational :=
  let g := Z.gcd n (Zpos d) in (n / g, Z.to_pos (Zpos d / g)).
Definition plus (a b : rational) : rational :=
  let (n, d) := a in
  let (m, e) := b in
  if Pos.eqb d e then reduced (n + m) d else reduced (n * Zpos e + m * Zpos d) (d * e).
Definition times (a b : rational) : rational :=
  reduced (fst a * fst b) (snd a * snd b).
(* Whether a < b, and whether a <= b. *)
Definition less (a b : rational) : bool := fst a * Zpos (snd b) <? fst b * Zpos (snd a).
Definition at_most (a b : rational) : bool := fst a * Zpos (snd b) <=? fst b * Zpos (snd a).
Definition none : rational := (0, 1%positive).

(* Values of steps and rows; None where they are not rational, or not defined. *)
Definition early {A} (l : list A) (i : N) : option A := at_index i l.
Definition both {A B} (f : A -> A -> B) (x y : option A) : option B :=
  match x, y with Some x, Some y => Some (f x y) | _, _ => None end.
Definition step_at (s : step) (z : rational) (done : list rational) : option rational :=
  match s with
  | Argument => Some z
  | Constant q => Some q
  | Add i j => both plus (early done i) (early done j)
  | Multiply i j => both times (early done i) (early done j)
  | Maximum i j => both (fun a b => if less a b then b else a) (early done i) (early done j)
  | Minimum i j => both (fun a b => if less a b then a else b) (early done i) (early done j)
  | Reciprocal i =>
    match early done i with
    | Some (n, d) =>
      if 0 <? n then Some (Zpos d, Z.to_pos n)
      else if n <? 0 then Some (- Zpos d, Z.to_pos (- n)) else None
    | None => None
    end
  | _ => None
  end.
Fixpoint steps_at (p : program) (z : rational) (done : list rational) : option (list rational) :=
  match p with
  | [] => Some done
  | s :: rest =>
    match step_at s z done with
    | Some x => steps_at rest z (done ++ [x])
    | None => None
    end
  end.

Definition exact := table (option rational).
Definition known_at (i : N) (t : exact) : option rational :=
  match get i t with Some (Some q) => Some q | _ => None end.
Fixpoint sum_at (ts : list (rational * N)) (t : exact) (s : rational) : option rational :=
  match ts with
  | [] => Some s
  | (w, i) :: rest =>
    match known_at i t with
    | Some q => sum_at rest t (plus s (times w q))
    | None => None
    end
  end.
Definition row_at (r : row) (t : exact) : option rational :=
  match r with
  | Affine ts b => sum_at ts t b
  | Relu z =>
    match known_at z t with Some q => Some (if fst q <? 0 then none else q) | None => None end
  | Function p z =>
    match known_at z t with
    | Some q => match steps_at p q [] with Some l => Some (last l none) | None => None end
    | None => None
    end
  | Product i j => both times (known_at i t) (known_at j t)
  end.
Fixpoint rows_at (rs : list row) (e : N) (t : exact) : option exact :=
  match rs with
  | [] => Some t
  | r :: rest =>
    match row_at r t with
    | Some q => rows_at rest (N.succ e) (set e (Some q) t)
    | None => None
    end
  end.
Fixpoint point_at (e : N) (x : list rational) (t : exact) : exact :=
  match x with
  | [] => t
  | q :: rest => point_at (N.succ e) rest (set e (Some q) t)
  end.

(* Values as intervals; None where they are not known. *)
Definition ranges := table (option range).
Definition range_at (i : N) (t : ranges) : option range :=
  match get i t with Some (Some r) => Some r | _ => None end.
Definition range_of (q : rational) : range := (floor_of q bits, ceil_of q bits).
Fixpoint sum_within (ts : list (rational * N)) (t : ranges) (s : range) : option range :=
  match ts with
  | [] => Some s
  | (w, i) :: rest =>
    match range_at i t with
    | Some r => sum_within rest t (sum_of s (product (range_of w) r))
    | None => None
    end
  end.
Definition row_within (r : row) (t : ranges) : option range :=
  match r with
  | Affine ts b => sum_within ts t (range_of b)
  | Relu z =>
    match range_at z t with Some (l, h) => Some (Z.max l 0, Z.max h 0) | None => None end
  | Function p z =>
    match range_at z t with
    | Some (l, h) =>
      if existsb is_root p then None
      else match program_on p l h with Some e => Some (span e) | None => None end
    | None => None
    end
  | Product i j => both product (range_at i t) (range_at j t)
  end.
Fixpoint rows_within (rs : list row) (e : N) (t : ranges) : option ranges :=
  match rs with
  | [] => Some t
  | r :: rest =>
    match row_within r t with
    | Some q => rows_within rest (N.succ e) (set e (Some q) t)
    | None => None
    end
  end.
Fixpoint point_within (e : N) (x : list rational) (t : ranges) : ranges :=
  match x with
  | [] => t
  | q :: rest => point_within (N.succ e) rest (set e (Some (range_of q)) t)
  end.
Definition holds_within (t : ranges) (a : condition) : bool :=
  match sum_within (map (fun u => ((fst u, 1%positive), snd u)) (terms a)) t
          (range_of (constant a)) with
  | Some (_, h) => if strict a then h <? 0 else h <=? 0
  | None => false
  end.

Fixpoint all_ends (f : rational -> rational -> bool) (ends x : list rational) : bool :=
  match ends, x with
  | [], _ => true
  | l :: ends, q :: x => f l q && all_ends f ends x
  | _ :: _, [] => false
  end.
Definition holds_at (t : exact) (a : condition) : bool :=
  match sum_at (map (fun u => ((fst u, 1%positive), snd u)) (terms a)) t (constant a) with
  | Some q => if strict a then fst q <? 0 else fst q <=? 0
  | None => false
  end.

(* Whether rows read earlier elements alone, as for bounds. *)
Definition is_ordered (net : network) : bool :=
  match entries_of 0 0 (rows net) [] (inputs net) 0 [] with Some _ => true | None => false end.

Definition violates (g : grid) (net : network) (c : case) (x : list rational) : bool :=
  N.eqb (count_of x 0) (inputs net) && is_ordered net &&
  all_ends at_most (lower c) x && all_ends (fun u q => at_most q u) (upper c) x &&
  match rows_at (rows net) (inputs net)
          (point_at 0 x (filled deepest 0 (count_of (rows net) (inputs net)) None)) with
  | Some t => existsb (fun cl => forallb (holds_at t) cl) (clauses c)
  | None =>
    match rows_within (rows net) (inputs net)
            (point_within 0 x (filled deepest 0 (count_of (rows net) (inputs net)) None)) with
    | Some t => existsb (fun cl => forallb (holds_within t) cl) (clauses c)
    | None => false
    end
  end.

(* ---- The proof ---- *)

Local Open Scope R_scope.

Lemma denominator_positive d : 0 < IZR (Zpos d).
Proof. apply IZR_lt; lia. Qed.
Ltac denominators := repeat match goal with
  | |- context [IZR (Zpos ?d)] =>
    lazymatch goal with
    | H : 0 < IZR (Zpos d) |- _ => fail
    | _ => pose proof (denominator_positive d)
    end
  end.

Lemma reduced_true n d : real (reduced n d) = real (n, d).
Proof.
  unfold reduced. set (g := Z.gcd n (Zpos d)).
  assert (G : (0 < g)%Z).
  { assert (g <> 0)%Z by (unfold g; intros E; apply Z.gcd_eq_0_r in E; discriminate).
    pose proof (Z.gcd_nonneg n (Zpos d)). fold g in H0. lia. }
  destruct (Z.gcd_divide_l n (Zpos d)) as [a A]. destruct (Z.gcd_divide_r n (Zpos d)) as [b B].
  fold g in A, B. unfold real. cbn [fst snd].
  assert (BP : (0 < b)%Z) by nia.
  rewrite B at 1. rewrite A at 1. rewrite !Z.div_mul by lia. rewrite Z2Pos.id by lia.
  rewrite A at 1. rewrite B. rewrite !mult_IZR.
  apply IZR_lt in G. apply IZR_lt in BP. field. split; apply Rgt_not_eq; assumption.
Qed.

Lemma plus_true a b : real (plus a b) = real a + real b.
Proof.
  destruct a as [n d], b as [m e]. unfold plus. destruct (Pos.eqb_spec d e) as [<-|_];
    rewrite reduced_true; unfold real; cbn [fst snd]; rewrite ?Pos2Z.inj_mul;
    rewrite ?plus_IZR, ?mult_IZR; denominators; field; repeat split; apply Rgt_not_eq; assumption.
Qed.
Lemma times_true a b : real (times a b) = real a * real b.
Proof.
  unfold times. rewrite reduced_true. unfold real. cbn [fst snd].
  rewrite Pos2Z.inj_mul, !mult_IZR. denominators.
  field. repeat split; apply Rgt_not_eq; assumption.
Qed.

Lemma less_true a b : less a b = true <-> real a < real b.
Proof.
  unfold less. rewrite Z.ltb_lt. unfold real. destruct a as [n d], b as [m e]. cbn [fst snd].
  pose proof (denominator_positive d) as D. pose proof (denominator_positive e) as E.
  assert (Q : IZR m / IZR (Zpos e) - IZR n / IZR (Zpos d) =
    (IZR (m * Zpos d) - IZR (n * Zpos e)) / (IZR (Zpos d) * IZR (Zpos e))).
  { rewrite !mult_IZR. field. split; apply Rgt_not_eq; assumption. }
  assert (P : 0 < / (IZR (Zpos d) * IZR (Zpos e))).
  { apply Rinv_0_lt_compat, Rmult_lt_0_compat; assumption. }
  unfold Rdiv in Q at 3. split; intros H.
  - apply IZR_lt in H. nra.
  - apply lt_IZR. nra.
Qed.
Lemma at_most_true a b : at_most a b = true -> real a <= real b.
Proof.
  intros H. destruct (Rle_dec (real a) (real b)) as [L|L]; auto.
  assert (real b < real a) as K by lra. apply less_true in K.
  unfold less, at_most in *. apply Z.ltb_lt in K. apply Z.leb_le in H. lia.
Qed.
Lemma sign_true q : ((fst q <? 0)%Z = true -> real q < 0) /\
  ((fst q <? 0)%Z = false -> 0 <= real q) /\ ((fst q <=? 0)%Z = true -> real q <= 0).
Proof.
  destruct q as [n d]. unfold real. cbn [fst snd].
  pose proof (Rinv_0_lt_compat _ (denominator_positive d)) as D. unfold Rdiv.
  repeat split; intros H.
  - apply Z.ltb_lt, IZR_lt in H. nra.
  - apply Z.ltb_ge, IZR_le in H. nra.
  - apply Z.leb_le, IZR_le in H. nra.
Qed.
Lemma none_true : real none = 0.
Proof. unfold none, real. cbn [fst snd]. lra. Qed.

Lemma at_index_true (l : list rational) : forall i x,
  at_index i l = Some x -> at_step (map real l) i = real x.
Proof.
  induction l as [|y l IH]; simpl; intros i x; [discriminate|].
  destruct (N.eqb_spec i 0) as [->|N0].
  - intros [= ->]. reflexivity.
  - intros H. apply IH in H. unfold at_step in *. rewrite <- H.
    replace (N.to_nat i) with (Datatypes.S (N.to_nat (N.pred i))) by lia. reflexivity.
Qed.

Lemma step_at_true s z done x : step_at s z done = Some x ->
  step_defined s (map real done) /\ step_value s (real z) (map real done) = real x.
Proof.
  destruct s as [|q|i j|i j|i j|i j|i|i|i|i|i|i|i|i|i|i|i]; simpl; try discriminate;
    unfold early, both.
  1: intros [= <-]; auto.
  1: intros [= <-]; auto.
  1-4: destruct (at_index i done) as [a|] eqn:A; try discriminate;
    destruct (at_index j done) as [b|] eqn:B; try discriminate;
    apply at_index_true in A; apply at_index_true in B; rewrite A, B; intros [= <-];
    split; auto.
  - symmetry. apply plus_true.
  - symmetry. apply times_true.
  - destruct (less a b) eqn:L.
    + apply less_true in L. apply Rmax_right. lra.
    + apply Rmax_left. destruct (Rle_dec (real b) (real a)); auto.
      assert (real a < real b) as K by lra. apply less_true in K. congruence.
  - destruct (less a b) eqn:L.
    + apply less_true in L. apply Rmin_left. lra.
    + apply Rmin_right. destruct (Rle_dec (real b) (real a)); auto.
      assert (real a < real b) as K by lra. apply less_true in K. congruence.
  - destruct (at_index i done) as [[n d]|] eqn:A; try discriminate.
    apply at_index_true in A. rewrite A. unfold real. cbn [fst snd].
    pose proof (denominator_positive d) as D.
    destruct (Z.ltb_spec 0 n) as [P|P]; [|destruct (Z.ltb_spec n 0) as [Q|Q]; [|discriminate]];
      intros [= <-]; cbn [fst snd]; rewrite Z2Pos.id by lia;
      try change (Z.neg d) with (- Z.pos d)%Z; rewrite ?opp_IZR.
    + apply IZR_lt in P. split; [|field; split; apply Rgt_not_eq; assumption].
      apply Rgt_not_eq. apply Rmult_lt_0_compat; [assumption|apply Rinv_0_lt_compat; assumption].
    + apply IZR_lt in Q. pose proof (Rinv_0_lt_compat _ D). split.
      * apply Rlt_not_eq. unfold Rdiv. nra.
      * field. split; [apply Rlt_not_eq|apply Rgt_not_eq]; assumption.
Qed.

Lemma steps_at_true p z : forall done l, steps_at p z done = Some l ->
  steps_defined p (real z) (map real done) /\
  run_steps p (real z) (map real done) = map real l.
Proof.
  induction p as [|s p IH]; simpl; intros done l.
  - intros [= <-]. auto.
  - destruct (step_at s z done) as [x|] eqn:S; [|discriminate]. intros H.
    apply step_at_true in S. destruct S as [S1 S2]. apply IH in H.
    rewrite map_app in H. simpl in H. rewrite S2. tauto.
Qed.

Lemma last_true l : last (map real l) 0 = real (last l none).
Proof.
  induction l as [|q l IH]; [symmetry; apply none_true|].
  destruct l as [|r l]; [reflexivity|]. exact IH.
Qed.

Section At.
Variable v : N -> R.
Definition exact_true (t : exact) : Prop := forall i q, get i t = Some (Some q) -> real q = v i.

Lemma known_at_true t i q : exact_true t -> known_at i t = Some q -> v i = real q.
Proof.
  unfold known_at. intros T. destruct (get i t) as [[x|]|] eqn:G; try discriminate.
  intros [= <-]. symmetry. apply T, G.
Qed.

Lemma sum_at_true t : exact_true t -> forall ts s q, sum_at ts t s = Some q ->
  sum ts v + real s = real q.
Proof.
  intros T. induction ts as [|[w i] ts IH]; simpl; intros s q.
  - intros [= <-]. lra.
  - destruct (known_at i t) as [x|] eqn:K; [|discriminate]. intros H. apply IH in H.
    rewrite <- H, plus_true, times_true, (known_at_true _ _ _ T K). unfold sum. simpl. lra.
Qed.

Lemma row_at_true t r q : exact_true t -> row_at r t = Some q ->
  row_defined r v /\ row_value r v = real q.
Proof.
  intros T. destruct r as [ts b|z|p z|i j]; simpl.
  - intros H. split; [exact I|]. apply (sum_at_true _ T _ _ _ H).
  - destruct (known_at z t) as [x|] eqn:K; [|discriminate]. intros [= <-].
    rewrite (known_at_true _ _ _ T K). split; [exact I|].
    destruct (sign_true x) as (S1 & S2 & _). destruct (fst x <? 0)%Z.
    + rewrite none_true. apply Rmax_right. specialize (S1 eq_refl). lra.
    + apply Rmax_left. auto.
  - destruct (known_at z t) as [x|] eqn:K; [|discriminate].
    destruct (steps_at p x []) as [l|] eqn:S; [|discriminate]. intros [= <-].
    rewrite (known_at_true _ _ _ T K). apply steps_at_true in S. destruct S as [S1 S2].
    split; [exact S1|]. unfold program_value. simpl in S2. rewrite S2. apply last_true.
  - unfold both. destruct (known_at i t) as [a|] eqn:A; [|discriminate].
    destruct (known_at j t) as [b|] eqn:B; [|discriminate]. intros [= <-].
    rewrite (known_at_true _ _ _ T A), (known_at_true _ _ _ T B). split; [exact I|].
    symmetry. apply times_true.
Qed.

Lemma rows_at_true rs : forall e t t', exact_true t -> rows_at rs e t = Some t' ->
  equations v rs e -> exact_true t' /\ (forall r, In r rs -> row_defined r v).
Proof.
  induction rs as [|r rs IH]; simpl; intros e t t' T.
  - intros [= <-] _. split; [exact T|]. intros r [].
  - destruct (row_at r t) as [q|] eqn:Q; [|discriminate]. intros H [E Es].
    apply row_at_true in Q; auto. destruct Q as [D Q].
    apply IH in H; auto.
    + destruct H as [H1 H2]. split; [exact H1|]. intros s [<-|I]; auto.
    + intros i x G. apply get_set in G. destruct G as [[-> [= ->]]|G]; [congruence|auto].
Qed.

Lemma point_at_true x : forall e t, exact_true t ->
  (forall i q, nth_error x i = Some q -> v (e + N.of_nat i)%N = real q) ->
  exact_true (point_at e x t).
Proof.
  induction x as [|q x IH]; simpl; intros e t T P; auto.
  apply IH.
  - intros i y G. apply get_set in G. destruct G as [[-> [= ->]]|G]; auto.
    symmetry. specialize (P O q eq_refl). rewrite N.add_0_r in P. exact P.
  - intros i y G. replace (N.succ e + N.of_nat i)%N with (e + N.of_nat (Datatypes.S i))%N by lia.
    apply P. exact G.
Qed.

Lemma sum_of_integers ts :
  sum (map (fun u : Z * N => ((fst u, 1%positive), snd u)) ts) v = integer_sum ts v.
Proof.
  induction ts as [|[c i] ts IH]; [reflexivity|].
  change (real (c, 1%positive) * v i +
    sum (map (fun u : Z * N => (fst u, 1%positive, snd u)) ts) v =
    IZR c * v i + integer_sum ts v).
  rewrite IH. unfold real. cbn [fst snd]. lra.
Qed.

Lemma holds_at_true t a : exact_true t -> holds_at t a = true -> holds v a.
Proof.
  intros T. unfold holds_at, holds, left_side. destruct sum_at as [q|] eqn:S; [|discriminate].
  apply sum_at_true in S; auto.
  rewrite sum_of_integers in S. rewrite S. destruct (sign_true q) as (S1 & _ & S3).
  destruct (strict a); auto.
Qed.

Definition ranges_true (t : ranges) : Prop :=
  forall i r, get i t = Some (Some r) -> within r (S * v i).

Lemma range_at_true t i r : ranges_true t -> range_at i t = Some r -> within r (S * v i).
Proof.
  unfold range_at. intros T. destruct (get i t) as [[x|]|] eqn:G; try discriminate.
  intros [= <-]. apply T, G.
Qed.

#[local] Opaque product sum_of.
Lemma range_of_true q : within (range_of q) (S * real q).
Proof.
  unfold within, range_of. cbn [fst snd]. rewrite Rmult_comm.
  split; [apply floor_of_true|apply ceil_of_true]; apply bits_natural.
Qed.

Lemma product_within a b x y : within a (S * x) -> within b (S * y) ->
  within (product a b) (S * (x * y)).
Proof.
  intros A B. replace (S * (x * y)) with (S * x * (S * y) / S).
  - apply product_true; assumption.
  - field. apply Rgt_not_eq, S_positive.
Qed.

Lemma sum_within_true t : ranges_true t -> forall ts s x r, within s (S * x) ->
  sum_within ts t s = Some r -> within r (S * (sum ts v + x)).
Proof.
  intros T. induction ts as [|[w i] ts IH]; simpl; intros s x r H.
  - intros [= <-]. rewrite Rplus_0_l. exact H.
  - destruct (range_at i t) as [q|] eqn:K; [|discriminate]. intros G.
    apply (IH _ (x + real w * v i)) in G.
    + replace (real w * v i + sum ts v + x) with (sum ts v + (x + real w * v i)) by ring. exact G.
    + rewrite Rmult_plus_distr_l. apply sum_of_true; [exact H|].
      apply product_within; [apply range_of_true|apply (range_at_true _ _ _ T K)].
Qed.

Lemma row_within_true t r q : ranges_true t -> row_within r t = Some q ->
  row_defined r v /\ within q (S * row_value r v).
Proof.
  intros T. pose proof S_positive as SP. destruct r as [ts b|z|p z|i j]; simpl.
  - intros H. split; [exact I|]. apply (sum_within_true t T _ _ _ _ (range_of_true b) H).
  - destruct (range_at z t) as [[l h]|] eqn:K; [|discriminate]. intros [= <-]. split; [exact I|].
    apply (range_at_true _ _ _ T) in K. unfold within in *. cbn [fst snd] in *.
    rewrite !IZR_max. unfold Rmax. repeat destruct Rle_dec; nra.
  - destruct (range_at z t) as [[l h]|] eqn:K; [|discriminate].
    destruct (existsb is_root p) eqn:R; [discriminate|].
    destruct (program_on p l h) as [e|] eqn:E; [|discriminate]. intros [= <-].
    apply (range_at_true _ _ _ T) in K. unfold within in K. cbn [fst snd] in K.
    assert (Z : IZR l / S <= v z <= IZR h / S).
    { pose proof (scaled_le _ _ (proj1 K)) as A. pose proof (scaled_le _ _ (proj2 K)) as B.
      rewrite back_scaled in A, B. lra. }
    split; [apply (program_on_defined _ _ _ _ _ E R Z)|].
    apply program_on_true in E. apply E, Z.
  - unfold both. destruct (range_at i t) as [a|] eqn:A; [|discriminate].
    destruct (range_at j t) as [b|] eqn:B; [|discriminate]. intros [= <-]. split; [exact I|].
    apply product_within; [apply (range_at_true _ _ _ T A)|apply (range_at_true _ _ _ T B)].
Qed.

Lemma rows_within_true rs : forall e t t', ranges_true t -> rows_within rs e t = Some t' ->
  equations v rs e -> ranges_true t' /\ (forall r, In r rs -> row_defined r v).
Proof.
  induction rs as [|r rs IH]; simpl; intros e t t' T.
  - intros [= <-] _. split; [exact T|]. intros r [].
  - destruct (row_within r t) as [q|] eqn:Q; [|discriminate]. intros H [E Es].
    apply row_within_true in Q; auto. destruct Q as [D Q]. rewrite <- E in Q.
    apply IH in H; auto.
    + destruct H as [H1 H2]. split; [exact H1|]. intros s [<-|I]; auto.
    + intros i x G. apply get_set in G. destruct G as [[-> [= ->]]|G]; auto.
Qed.

Lemma point_within_true x : forall e t, ranges_true t ->
  (forall i q, nth_error x i = Some q -> v (e + N.of_nat i)%N = real q) ->
  ranges_true (point_within e x t).
Proof.
  induction x as [|q x IH]; simpl; intros e t T P; auto.
  apply IH.
  - intros i y G. apply get_set in G. destruct G as [[-> [= ->]]|G]; auto.
    specialize (P O q eq_refl). rewrite N.add_0_r in P. rewrite P. apply range_of_true.
  - intros i y G. replace (N.succ e + N.of_nat i)%N with (e + N.of_nat (Datatypes.S i))%N by lia.
    apply P. exact G.
Qed.

Lemma holds_within_true t a : ranges_true t -> holds_within t a = true -> holds v a.
Proof.
  intros T. unfold holds_within, holds, left_side. pose proof S_positive as SP.
  destruct sum_within as [[l h]|] eqn:H; [|discriminate].
  apply (sum_within_true t T _ _ _ _ (range_of_true (constant a))) in H.
  rewrite sum_of_integers in H. unfold within in H. cbn [fst snd] in H.
  destruct (strict a); intros K.
  - apply Z.ltb_lt, IZR_lt in K. nra.
  - apply Z.leb_le, IZR_le in K. nra.
Qed.
End At.

Lemma all_ends_true f ends : forall x, all_ends f ends x = true ->
  forall i l, nth_error ends i = Some l -> exists q, nth_error x i = Some q /\ f l q = true.
Proof.
  induction ends as [|e ends IH]; intros [|y x]; simpl; try discriminate; intros H [|i] l;
    simpl; try discriminate.
  - intros [= <-]. exists y. apply andb_prop in H. split; [reflexivity|apply H].
  - intros G. apply andb_prop in H. apply (IH _ (proj2 H) _ _ G).
Qed.

(* If it answers true, then some real input violates the property. *)
Theorem violates_sound (g : grid) (net : network) (c : case) (x : list rational) :
  violates g net c x = true -> violated net c.
Proof.
  unfold violates. intros H. repeat (apply andb_prop in H; destruct H as [H ?]).
  rename H3 into O, H2 into L, H1 into U, H0 into M. rename H into C.
  apply N.eqb_eq in C. rewrite count_of_true in C. simpl in C.
  set (y := fun i : N => real (nth (N.to_nat i) x none)).
  set (v := values net y).
  assert (Y : forall i q, nth_error x i = Some q -> y (N.of_nat i) = real q).
  { intros i q G. unfold y. rewrite Nnat.Nat2N.id. f_equal. apply nth_error_nth. exact G. }
  assert (E : equations v (rows net) (inputs net)).
  { unfold is_ordered in O. destruct entries_of eqn:K; [|discriminate].
    apply (equations_true _ _ _ _ _ _ _ _ y K). }
  assert (B : inside c y).
  { split; intros i q G.
    - destruct (all_ends_true _ _ _ L _ _ G) as [z [Gz P]]. rewrite (Y _ _ Gz).
      apply at_most_true, P.
    - destruct (all_ends_true _ _ _ U _ _ G) as [z [Gz P]]. rewrite (Y _ _ Gz).
      apply at_most_true, P. }
  assert (VX : forall i q, nth_error x i = Some q -> v (0 + N.of_nat i)%N = real q).
  { intros i q G. simpl. unfold v, values. rewrite run_before; [apply (Y _ _ G)|].
    assert (i < length x)%nat by (apply nth_error_Some; rewrite G; discriminate). lia. }
  revert M. generalize deepest. intros depth M.
  destruct rows_at as [t|] eqn:T.
  - apply (rows_at_true v) in T; auto.
    + destruct T as [T D]. apply existsb_exists in M. destruct M as [cl [I M]].
      rewrite forallb_forall in M. exists y. split; [exact B|]. split; [exact D|].
      exists cl. split; [exact I|]. intros a Ia. apply (holds_at_true v t a T (M a Ia)).
    + apply point_at_true; [|exact VX]. intros i q G. apply get_filled in G. discriminate.
  - clear T. destruct rows_within as [t|] eqn:T; [|discriminate].
    apply (rows_within_true v) in T; auto.
    + destruct T as [T D]. apply existsb_exists in M. destruct M as [cl [I M]].
      rewrite forallb_forall in M. exists y. split; [exact B|]. split; [exact D|].
      exists cl. split; [exact I|]. intros a Ia. apply (holds_within_true v t a T (M a Ia)).
    + apply point_within_true; [|exact VX]. intros i q G. apply get_filled in G. discriminate.
Qed.
