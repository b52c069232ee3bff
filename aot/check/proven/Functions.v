(* Programs on intervals: `program_on_true`, the last lemma. Numbers are integers in units of 1 / S,
   S = 2^96. Of each step f are known an interval of its values and, for most, one of its slopes
   (f(y) - f(x)) / (y - x). Round, Sign, Sin, Cos and Atan have no bounds yet. *)

From Coq Require Import Reals ZArith NArith List Lra Lia Bool.
From Flocq Require Import Core.
From Coquelicot Require Import Coquelicot.
Require Import Network Certificate Table Bounds.
Import ListNotations.
Local Open Scope Z_scope.

Definition bits : Z := 96.
Definition one : Z := Z.shiftl 1 bits.

(* ---- Numbers ---- *)

Definition down (a : Z) : Z := Z.shiftr a bits.
Definition up (a : Z) : Z := - Z.shiftr (- a) bits.
Definition over (a b : Z) : Z := - ((- a) / b).   (* a / b, rounded up. *)

Definition range := (Z * Z)%type.
Definition hull (a b : range) : range := (Z.min (fst a) (fst b), Z.max (snd a) (snd b)).
Definition negative (a : range) : range := (- snd a, - fst a).
Definition sum_of (a b : range) : range := (fst a + fst b, snd a + snd b).
Definition product (a b : range) : range :=
  let (p, q) := a in
  let (r, s) := b in
  let x := p * r in let y := p * s in let z := q * r in let w := q * s in
  (down (Z.min (Z.min x y) (Z.min z w)), up (Z.max (Z.max x y) (Z.max z w))).

(* e^x = (e^y)^(2^64) with y = x / 2^64, and 1 + y <= e^y <= 1 + y + 2 y y. Of x >= 0. *)
Definition halvings : nat := 64.
Definition finer : Z := bits + 64.
Fixpoint squared_down (n : nat) (y : Z) : Z :=
  match n with O => y | S n => squared_down n (Z.shiftr (y * y) finer) end.
Fixpoint squared_up (n : nat) (y : Z) : Z :=
  match n with O => y | S n => squared_up n (- Z.shiftr (- (y * y)) finer) end.
Definition exp_low (x : Z) : Z :=
  Z.shiftr (squared_down halvings (Z.shiftl 1 finer + x)) 64.
Definition exp_high (x : Z) : Z :=
  - Z.shiftr (- squared_up halvings (Z.shiftl 1 finer + x - Z.shiftr (- (2 * x * x)) finer)) 64.
Definition largest : Z := Z.shiftl 1024 bits.
Definition exp_at (x : range) : option range :=
  let (l, h) := x in
  if largest <? h then None
  else
    Some (if 0 <=? l then exp_low l
          else if largest <? - l then 0
          else one * one / exp_high (- l),
          if 0 <=? h then exp_high h
          else over (one * one) (exp_low (Z.min (- h) largest))).

Definition sigmoid_low_of (x : Z) : Z := let e := exp_low (Z.min x largest) in one * e / (one + e).
Definition sigmoid_high_of (x : Z) : Z :=
  if largest <? x then one else let e := exp_high x in over (one * e) (one + e).
Definition sigmoid_at (x : range) : range :=
  let (l, h) := x in
  (if 0 <=? l then sigmoid_low_of l else one - sigmoid_high_of (- l),
   if 0 <=? h then sigmoid_high_of h else one - sigmoid_low_of (- h)).

Definition reciprocal_at (x : range) : option range :=
  let (l, h) := x in
  if (0 <? l) || (h <? 0) then Some (one * one / h, over (one * one) l) else None.

Definition sqrt_at (x : range) : range :=
  (Z.sqrt (fst x * one), Z.sqrt (Z.max 0 (snd x) * one) + 1).

(* A logarithm is searched for, and then proven by the exponential. *)
Fixpoint log_search (n : nat) (x y : Z) : Z :=
  match n with
  | O => y
  | S n =>
    let e := if 0 <=? y then exp_low y else one * one / exp_low (- y) in
    log_search n x (y + Z.shiftl (2 * (x - e)) bits / (x + e))
  end.
Definition log_near (x : Z) : Z := log_search 4 x (Z.shiftr ((Z.log2 x - bits) * one * 11 ) 4).
Definition log_error : Z := Z.shiftl 1 45.
Definition log_low (x : Z) : option Z :=
  let y := log_near x - log_error in
  match exp_at (y, y) with Some (_, h) => if h <=? x then Some y else None | None => None end.
Definition log_high (x : Z) : option Z :=
  let y := log_near x + log_error in
  match exp_at (y, y) with Some (l, _) => if x <=? l then Some y else None | None => None end.
Definition log_at (x : range) : option range :=
  let (l, h) := x in
  if 0 <? l then
    match log_low l, log_high h with Some a, Some b => Some (a, b) | _, _ => None end
  else None.

(* ---- Programs ---- *)

Record enclosure := { span : range; slope : option range }.

Definition two {A B} (f : A -> A -> B) (x y : option A) : option B :=
  match x, y with Some x, Some y => Some (f x y) | _, _ => None end.
Definition chained (value : range) (outer : option range) (e : enclosure) : enclosure :=
  {| span := value; slope := two product outer (slope e) |}.

Definition added_to (a b : enclosure) : enclosure :=
  {| span := sum_of (span a) (span b); slope := two sum_of (slope a) (slope b) |}.
Definition times_at (a b : enclosure) : enclosure :=
  {| span := product (span a) (span b);
     slope := two sum_of (two product (Some (span a)) (slope b))
                         (two product (Some (span b)) (slope a)) |}.
(* A number by itself. *)
Definition square_at (a : enclosure) : enclosure :=
  let e := times_at a a in
  {| span := (Z.max 0 (fst (span e)), snd (span e)); slope := slope e |}.
Definition greater (a b : enclosure) : enclosure :=
  if snd (span b) <=? fst (span a) then a
  else if snd (span a) <=? fst (span b) then b
  else {| span := (Z.max (fst (span a)) (fst (span b)), Z.max (snd (span a)) (snd (span b)));
          slope := two hull (slope a) (slope b) |}.
Definition opposite (a : enclosure) : enclosure :=
  {| span := negative (span a);
     slope := match slope a with Some d => Some (negative d) | None => None end |}.

Definition sigmoid_slope (y : range) : range :=
  let at_end z := z * (one - z) in
  let a := at_end (fst y) in
  let b := at_end (snd y) in
  (down (Z.min a b),
   if (2 * fst y <? one) && (one <? 2 * snd y) then Z.shiftr one 2 else up (Z.max a b)).

Definition floor_at (e : enclosure) : enclosure :=
  let whole x := Z.shiftl (down x) bits in
  let l := whole (fst (span e)) in
  let h := whole (snd (span e)) in
  {| span := (l, h); slope := if l =? h then Some (0, 0) else None |}.

Definition step_enclosed (s : step) (z : enclosure) (done : list enclosure) : option enclosure :=
  match s with
  | Argument => Some z
  | Constant q => Some {| span := (floor_of q bits, ceil_of q bits); slope := Some (0, 0) |}
  | Add i j => two added_to (at_index i done) (at_index j done)
  | Multiply i j =>
    if N.eqb i j then
      match at_index i done with Some e => Some (square_at e) | None => None end
    else two times_at (at_index i done) (at_index j done)
  | Maximum i j => two greater (at_index i done) (at_index j done)
  | Minimum i j =>
    two (fun a b => opposite (greater (opposite a) (opposite b)))
      (at_index i done) (at_index j done)
  | Reciprocal i =>
    match at_index i done with
    | Some e =>
      match reciprocal_at (span e) with
      | Some y => Some (chained y (Some (negative (product y y))) e)
      | None => None
      end
    | None => None
    end
  | Exp i =>
    match at_index i done with
    | Some e => match exp_at (span e) with Some y => Some (chained y (Some y) e) | None => None end
    | None => None
    end
  | Sigmoid i =>
    match at_index i done with
    | Some e => let y := sigmoid_at (span e) in Some (chained y (Some (sigmoid_slope y)) e)
    | None => None
    end
  | Log i =>
    match at_index i done with
    | Some e =>
      match log_at (span e) with
      | Some y => Some (chained y (reciprocal_at (span e)) e)
      | None => None
      end
    | None => None
    end
  | Sqrt i =>
    match at_index i done with
    | Some e =>
      let y := sqrt_at (span e) in
      let half (r : range) : range := (Z.shiftr (fst r) 1, - Z.shiftr (- snd r) 1) in
      let outer :=
        if (0 <? fst (span e)) && (0 <? fst y) then
          match reciprocal_at y with Some r => Some (half r) | None => None end
        else None in
      Some (chained y outer e)
    | None => None
    end
  | Floor i => match at_index i done with Some e => Some (floor_at e) | None => None end
  | _ => None
  end.
Fixpoint steps_enclosed (p : program) (z : enclosure) (done : list enclosure)
    : option (list enclosure) :=
  match p with
  | [] => Some done
  | s :: rest =>
    match step_enclosed s z done with
    | Some e => steps_enclosed rest z (done ++ [e])
    | None => None
    end
  end.
(* Of a program on [a, b]. *)
Definition program_on (p : program) (a b : Z) : option enclosure :=
  match steps_enclosed p {| span := (a, b); slope := Some (one, one) |} [] with
  | Some l => match rev_append l [] with e :: _ => Some e | [] => None end
  | None => None
  end.

(* ---- The proof ---- *)

#[local] Opaque bits one finer largest halvings.
Local Open Scope R_scope.

Definition S : R := IZR (2 ^ bits).
Lemma bits_natural : (0 <= bits)%Z.
Proof. Transparent bits. unfold bits. lia. Opaque bits. Qed.
Lemma S_positive : 0 < S.
Proof. apply power_positive, bits_natural. Qed.
Lemma one_true : IZR one = S.
Proof.
  Transparent one. unfold one. Opaque one.
  rewrite shiftl_true by apply bits_natural. fold S. lra.
Qed.

Lemma down_true a x : IZR a <= S * x -> IZR (down a) <= x.
Proof. intros H. apply shiftr_below; [apply bits_natural|exact H]. Qed.
Lemma up_true a x : S * x <= IZR a -> x <= IZR (up a).
Proof. intros H. apply shiftr_above; [apply bits_natural|exact H]. Qed.
Lemma quotient_true a b : (0 < b)%Z -> IZR (a / b) * IZR b <= IZR a.
Proof.
  intros B. rewrite <- mult_IZR. apply IZR_le. rewrite Z.mul_comm. apply Z.mul_div_le. exact B.
Qed.
Lemma over_true a b : (0 < b)%Z -> IZR a <= IZR (over a b) * IZR b.
Proof.
  intros B. unfold over. pose proof (quotient_true (- a) b B) as H.
  rewrite opp_IZR in H |- *. lra.
Qed.

Definition within (r : range) (x : R) : Prop := IZR (fst r) <= x <= IZR (snd r).

Lemma product_true a b x y : within a x -> within b y -> within (product a b) (x * y / S).
Proof.
  destruct a as [p q], b as [r s]. unfold within, product. cbn [fst snd]. intros A B.
  pose proof S_positive as SP.
  assert (E : S * (x * y / S) = x * y) by (field; apply Rgt_not_eq; exact SP).
  pose proof (linear_least y 0 _ _ _ A) as L0.
  pose proof (linear_least (IZR p) 0 _ _ _ B) as L1.
  pose proof (linear_least (IZR q) 0 _ _ _ B) as L2.
  pose proof (linear_least (- y) 0 _ _ _ A) as U0.
  pose proof (linear_least (- IZR p) 0 _ _ _ B) as U1.
  pose proof (linear_least (- IZR q) 0 _ _ _ B) as U2.
  split.
  - apply down_true. rewrite E, !IZR_min, !mult_IZR.
    revert L0 L1 L2. clear. unfold Rmin. repeat destruct Rle_dec; lra.
  - apply up_true. rewrite E, !IZR_max, !mult_IZR.
    revert U0 U1 U2. clear. unfold Rmin, Rmax. repeat destruct Rle_dec; lra.
Qed.
Lemma sum_of_true a b x y : within a x -> within b y -> within (sum_of a b) (x + y).
Proof. unfold within, sum_of. cbn [fst snd]. rewrite !plus_IZR. lra. Qed.
Lemma negative_true a x : within a x -> within (negative a) (- x).
Proof. unfold within, negative. cbn [fst snd]. rewrite !opp_IZR. lra. Qed.
Lemma hull_left a b x : within a x -> within (hull a b) x.
Proof.
  unfold within, hull. cbn [fst snd]. rewrite IZR_min, IZR_max.
  unfold Rmin, Rmax. repeat destruct Rle_dec; lra.
Qed.
Lemma hull_right a b x : within b x -> within (hull a b) x.
Proof.
  unfold within, hull. cbn [fst snd]. rewrite IZR_min, IZR_max.
  unfold Rmin, Rmax. repeat destruct Rle_dec; lra.
Qed.
Lemma hull_between a b x y z : within a x -> within b y -> x <= z <= y \/ y <= z <= x ->
  within (hull a b) z.
Proof.
  intros A B H. pose proof (hull_left a b x A). pose proof (hull_right a b y B).
  unfold within in *. lra.
Qed.

(* The exponential. *)
Definition F : R := IZR (2 ^ finer).
Lemma finer_natural : (0 <= finer)%Z.
Proof.
  Transparent finer. unfold finer. pose proof bits_natural. lia. Opaque finer.
Qed.
Lemma F_positive : 0 < F.
Proof. apply power_positive, finer_natural. Qed.
Lemma F_true : F = IZR (2 ^ 64) * S.
Proof.
  unfold F, S. rewrite <- mult_IZR. apply f_equal. rewrite <- Z.pow_add_r.
  - Transparent finer. unfold finer. Opaque finer. apply f_equal. lia.
  - lia.
  - apply bits_natural.
Qed.

Lemma exp_twice z : exp (2 * z) = exp z * exp z.
Proof. replace (2 * z) with (z + z) by ring. apply exp_plus. Qed.

Lemma squared_down_true n : forall y z, 0 <= IZR y <= F * exp z ->
  0 <= IZR (squared_down n y) <= F * exp (2 ^ n * z).
Proof.
  pose proof F_positive as FP.
  induction n as [|n IH]; intros y z H.
  - simpl. rewrite Rmult_1_l. exact H.
  - cbn [squared_down]. replace (2 ^ (Datatypes.S n) * z) with (2 ^ n * (2 * z)) by (simpl; ring).
    apply IH. split.
    + apply IZR_le. apply Z.shiftr_nonneg. destruct H as [H _]. apply le_IZR in H. nia.
    + apply shiftr_below; [apply finer_natural|]. fold F. rewrite mult_IZR, exp_twice.
      assert (IZR y * IZR y <= (F * exp z) * (F * exp z)) by (apply Rmult_le_compat; lra). lra.
Qed.
Lemma squared_up_true n : forall y z, F * exp z <= IZR y ->
  F * exp (2 ^ n * z) <= IZR (squared_up n y).
Proof.
  pose proof F_positive as FP.
  induction n as [|n IH]; intros y z H.
  - simpl. rewrite Rmult_1_l. exact H.
  - cbn [squared_up]. replace (2 ^ (Datatypes.S n) * z) with (2 ^ n * (2 * z)) by (simpl; ring).
    apply IH. apply shiftr_above; [apply finer_natural|]. fold F. rewrite mult_IZR, exp_twice.
    pose proof (exp_pos z) as E.
    assert (0 <= F * exp z) by nra.
    assert ((F * exp z) * (F * exp z) <= IZR y * IZR y) by (apply Rmult_le_compat; lra). lra.
Qed.

Lemma halvings_true x : 2 ^ halvings * (x / F) = x / S.
Proof.
  rewrite F_true. pose proof S_positive as SP.
  assert (E : (2 ^ halvings)%R = IZR (2 ^ 64)).
  { rewrite pow_IZR. Transparent halvings. reflexivity. Opaque halvings. }
  rewrite E. field. split; [apply Rgt_not_eq; exact SP|].
  apply Rgt_not_eq. apply power_positive. lia.
Qed.

Lemma exp_low_true x : (0 <= x)%Z -> 0 <= IZR (exp_low x) <= S * exp (IZR x / S).
Proof.
  intros X. pose proof F_positive as FP. apply IZR_le in X.
  assert (H : 0 <= IZR (Z.shiftl 1 finer + x) <= F * exp (IZR x / F)).
  { rewrite plus_IZR, shiftl_true by apply finer_natural. fold F.
    pose proof (exp_ineq1_le (IZR x / F)) as E.
    apply (Rmult_le_compat_l F) in E; [|lra].
    replace (F * (1 + IZR x / F)) with (F + IZR x) in E by (field; apply Rgt_not_eq; exact FP).
    lra. }
  apply (squared_down_true halvings) in H. rewrite halvings_true in H.
  unfold exp_low. split.
  - apply IZR_le, Z.shiftr_nonneg, le_IZR. apply H.
  - apply shiftr_below; [lia|]. rewrite <- Rmult_assoc, <- F_true. apply H.
Qed.

Lemma exp_low_positive x : (0 <= x)%Z -> (0 < exp_low x)%Z.
Proof.
  intros X. pose proof finer_natural as FN. pose proof bits_natural as BN.
  assert (P : (0 < 2 ^ finer)%Z) by (apply Z.pow_pos_nonneg; lia).
  assert (H : forall n y, (2 ^ finer <= y)%Z -> (2 ^ finer <= squared_down n y)%Z).
  { induction n as [|n IH]; intros y Y; [exact Y|]. simpl. apply IH.
    rewrite Z.shiftr_div_pow2 by exact FN. apply Z.div_le_lower_bound; [exact P|nia]. }
  unfold exp_low. rewrite Z.shiftr_div_pow2 by lia.
  assert (K : (2 ^ finer <= squared_down halvings (Z.shiftl 1 finer + x))%Z).
  { apply H. rewrite Z.shiftl_mul_pow2 by exact FN. lia. }
  apply Z.lt_le_trans with 1%Z; [lia|]. apply Z.div_le_lower_bound; [lia|].
  apply Z.le_trans with (2 := K).
  assert (E : finer = (64 + bits)%Z).
  { Transparent finer. unfold finer. Opaque finer. lia. }
  rewrite E, Z.pow_add_r by lia.
  assert (0 < 2 ^ bits)%Z by (apply Z.pow_pos_nonneg; lia). nia.
Qed.

Lemma exp_upper y : 0 <= y <= / 2 -> exp y <= 1 + y + 2 * y * y.
Proof.
  intros H. pose proof (exp_ineq1_le (- y)) as E. rewrite exp_Ropp in E.
  pose proof (exp_pos y) as P.
  apply (Rmult_le_compat_l (exp y)) in E; [|lra]. rewrite Rinv_r in E by lra.
  assert (exp y * (1 - y) <= (1 + y + 2 * y * y) * (1 - y)) by nra.
  apply Rmult_le_reg_r with (1 - y); lra.
Qed.

Lemma largest_true : IZR largest = 1024 * S.
Proof.
  Transparent largest. unfold largest. Opaque largest.
  rewrite shiftl_true by apply bits_natural. fold S. lra.
Qed.

Lemma exp_high_true x : (0 <= x <= largest)%Z -> S * exp (IZR x / S) <= IZR (exp_high x).
Proof.
  intros [X L]. pose proof F_positive as FP. pose proof S_positive as SP.
  apply IZR_le in X. apply IZR_le in L. rewrite largest_true in L.
  assert (B : 2 * 1024 <= IZR (2 ^ 64)) by (rewrite <- mult_IZR; apply IZR_le; lia).
  assert (Y : 0 <= IZR x / F <= / 2).
  { split; [apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; exact FP]|].
    apply Rmult_le_reg_r with (1 := FP). unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
    rewrite F_true. nra. }
  pose proof (exp_upper _ Y) as E.
  assert (H : F * exp (IZR x / F) <=
    IZR (Z.shiftl 1 finer + x - Z.shiftr (- (2 * x * x)) finer)).
  { rewrite minus_IZR, plus_IZR, shiftl_true by apply finer_natural. fold F.
    assert (Q : 2 * IZR x * (IZR x / F) <= - IZR (Z.shiftr (- (2 * x * x)) finer)).
    { rewrite <- opp_IZR. apply shiftr_above; [apply finer_natural|]. fold F.
      rewrite !mult_IZR. right. field. apply Rgt_not_eq; exact FP. }
    apply (Rmult_le_compat_l F) in E; [|lra].
    replace (F * (1 + IZR x / F + 2 * (IZR x / F) * (IZR x / F))) with
      (F + IZR x + 2 * IZR x * (IZR x / F)) in E by (field; apply Rgt_not_eq; exact FP).
    lra. }
  apply (squared_up_true halvings) in H. rewrite halvings_true in H.
  unfold exp_high. apply shiftr_above; [lia|]. rewrite <- Rmult_assoc, <- F_true. exact H.
Qed.

Lemma scaled_le x y : x <= y -> x / S <= y / S.
Proof. intros H. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, S_positive|exact H]. Qed.
Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. intros [H| ->]; [left; apply exp_increasing, H|right; reflexivity]. Qed.

Lemma exp_at_true r y x : exp_at r = Some y -> within r x -> within y (S * exp (x / S)).
Proof.
  destruct r as [l h]. unfold exp_at, within.
  destruct (Z.ltb_spec largest h) as [L|L]; [discriminate|].
  intros [= <-]. cbn [fst snd]. intros [A B]. pose proof S_positive as SP.
  apply scaled_le, exp_le in A. apply scaled_le, exp_le in B.
  pose proof (exp_pos (x / S)) as P. split.
  - destruct (Z.leb_spec 0 l) as [Q|Q].
    + pose proof (exp_low_true l Q). nra.
    + destruct (Z.ltb_spec largest (- l)) as [M|M]; [nra|].
      pose proof (exp_high_true (- l) ltac:(lia)) as H. rewrite opp_IZR in H.
      replace (- IZR l / S) with (- (IZR l / S)) in H by (unfold Rdiv; ring).
      rewrite exp_Ropp in H. pose proof (exp_pos (IZR l / S)) as E.
      assert (HP : 0 < IZR (exp_high (- l))).
      { apply Rlt_le_trans with (2 := H). apply Rmult_lt_0_compat; [exact SP|].
        apply Rinv_0_lt_compat, E. }
      pose proof (quotient_true (one * one) _ (lt_IZR _ _ HP)) as D.
      rewrite mult_IZR, one_true in D.
      apply Rle_trans with (S * exp (IZR l / S)); [|nra].
      apply Rmult_le_reg_r with (1 := HP). apply Rle_trans with (1 := D).
      apply (Rmult_le_compat_l (S * exp (IZR l / S))) in H; [|nra].
      replace (S * exp (IZR l / S) * (S * / exp (IZR l / S))) with (S * S) in H
        by (field; apply Rgt_not_eq; exact E). exact H.
  - destruct (Z.leb_spec 0 h) as [Q|Q].
    + pose proof (exp_high_true h ltac:(lia)). nra.
    + set (m := Z.min (- h) largest).
      assert (M : (0 <= m <= - h)%Z).
      { unfold m. assert (0 <= largest)%Z; [|lia]. apply le_IZR. rewrite largest_true. lra. }
      destruct (exp_low_true m (proj1 M)) as [_ H].
      assert (K : S * exp (IZR m / S) <= S * / exp (IZR h / S)).
      { apply Rmult_le_compat_l; [lra|]. rewrite <- exp_Ropp. apply exp_le.
        replace (- (IZR h / S)) with (- IZR h / S) by (unfold Rdiv; ring).
        apply scaled_le. rewrite <- opp_IZR. apply IZR_le. lia. }
      pose proof (exp_pos (IZR h / S)) as E.
      pose proof (exp_low_positive m (proj1 M)) as G.
      pose proof (over_true (one * one) _ G) as D. rewrite mult_IZR, one_true in D.
      apply IZR_lt in G.
      apply Rle_trans with (S * exp (IZR h / S)); [nra|].
      apply Rmult_le_reg_r with (1 := G). apply Rle_trans with (2 := D).
      apply Rle_trans with (S * exp (IZR h / S) * (S * / exp (IZR h / S))).
      * apply Rmult_le_compat_l; [nra|lra].
      * right. field. apply Rgt_not_eq; exact E.
Qed.

(* The sigmoid. *)
Definition sg (x : R) : R := / (1 + exp (- x)).
Lemma sg_denominator x : 0 < 1 + exp (- x).
Proof. pose proof (exp_pos (- x)). lra. Qed.
Lemma sg_exp x : sg x * (1 + exp x) = exp x.
Proof.
  unfold sg. rewrite exp_Ropp. pose proof (exp_pos x). field. split; apply Rgt_not_eq; lra.
Qed.
Lemma sg_opposite x : sg (- x) = 1 - sg x.
Proof.
  unfold sg. rewrite Ropp_involutive, exp_Ropp. pose proof (exp_pos x). field.
  split; apply Rgt_not_eq; lra.
Qed.
Lemma sg_bounds x : 0 < sg x < 1.
Proof.
  pose proof (sg_exp x) as E. pose proof (exp_pos x) as P.
  assert (0 < sg x) by (unfold sg; apply Rinv_0_lt_compat, sg_denominator). nra.
Qed.
Lemma sg_le x y : x <= y -> sg x <= sg y.
Proof.
  intros H. unfold sg. apply Rinv_le_contravar; [apply sg_denominator|].
  pose proof (exp_le (- y) (- x)). lra.
Qed.

Lemma sigmoid_low_true x : (0 <= x)%Z -> IZR (sigmoid_low_of x) <= S * sg (IZR x / S).
Proof.
  intros X. unfold sigmoid_low_of. set (m := Z.min x largest).
  pose proof S_positive as SP.
  assert (M : (0 <= m <= x)%Z).
  { unfold m. assert (0 <= largest)%Z; [|lia]. apply le_IZR. rewrite largest_true. lra. }
  pose proof (exp_low_positive m (proj1 M)) as G.
  destruct (exp_low_true m (proj1 M)) as [_ H].
  assert (O : (0 < one)%Z) by (apply lt_IZR; rewrite one_true; exact SP).
  pose proof (quotient_true (one * exp_low m) (one + exp_low m) ltac:(lia)) as Q.
  rewrite mult_IZR, plus_IZR, one_true in Q.
  set (q := IZR (_ / _)) in *. set (e := IZR (exp_low m)) in *.
  assert (E0 : 0 < e) by (apply IZR_lt; exact G).
  assert (EE : e <= S * exp (IZR x / S)).
  { apply Rle_trans with (1 := H). apply Rmult_le_compat_l; [lra|]. apply exp_le, scaled_le, IZR_le.
    apply M. }
  pose proof (sg_exp (IZR x / S)) as SE. pose proof (exp_pos (IZR x / S)) as EP.
  set (E := exp (IZR x / S)) in *. set (g := sg (IZR x / S)) in *.
  assert (K : q * (S + e) * (1 + E) <= S * g * (S + e) * (1 + E)).
  { assert (R1 : S * g * (S + e) * (1 + E) = S * (S + e) * E).
      { transitivity (S * (S + e) * (g * (1 + E))); [ring|]. rewrite SE. reflexivity. }
      rewrite R1.
    apply Rle_trans with (S * e * (1 + E)); [apply Rmult_le_compat_r; lra|]. nra. }
  apply Rmult_le_reg_r in K; [|lra]. apply Rmult_le_reg_r in K; [exact K|lra].
Qed.
Lemma sigmoid_high_true x : (0 <= x)%Z -> S * sg (IZR x / S) <= IZR (sigmoid_high_of x).
Proof.
  intros X. unfold sigmoid_high_of. pose proof S_positive as SP.
  destruct (Z.ltb_spec largest x) as [L|L].
  - rewrite one_true. pose proof (sg_bounds (IZR x / S)). nra.
  - pose proof (exp_high_true x (conj X L)) as H.
    pose proof (exp_pos (IZR x / S)) as EP.
    assert (E0 : 0 < IZR (exp_high x)) by nra.
    assert (O : (0 < one)%Z) by (apply lt_IZR; rewrite one_true; exact SP).
    pose proof (lt_IZR _ _ E0) as EZ.
    pose proof (over_true (one * exp_high x) (one + exp_high x) ltac:(lia)) as Q.
    rewrite mult_IZR, plus_IZR, one_true in Q.
    set (q := IZR (over _ _)) in *. set (e := IZR (exp_high x)) in *.
    pose proof (sg_exp (IZR x / S)) as SE.
    set (E := exp (IZR x / S)) in *. set (g := sg (IZR x / S)) in *.
    assert (K : S * g * (S + e) * (1 + E) <= q * (S + e) * (1 + E)).
    { assert (R1 : S * g * (S + e) * (1 + E) = S * (S + e) * E).
      { transitivity (S * (S + e) * (g * (1 + E))); [ring|]. rewrite SE. reflexivity. }
      rewrite R1.
      apply Rle_trans with (S * e * (1 + E)); [nra|apply Rmult_le_compat_r; lra]. }
    apply Rmult_le_reg_r in K; [|lra]. apply Rmult_le_reg_r in K; [exact K|lra].
Qed.
Lemma opposite_scaled x : IZR (- x) / S = - (IZR x / S).
Proof. rewrite opp_IZR. unfold Rdiv. ring. Qed.
Lemma sigmoid_at_true r x : within r x -> within (sigmoid_at r) (S * sg (x / S)).
Proof.
  destruct r as [l h]. unfold sigmoid_at, within. cbn [fst snd]. intros [A B].
  pose proof S_positive as SP.
  apply scaled_le, sg_le in A. apply scaled_le, sg_le in B. split.
  - destruct (Z.leb_spec 0 l) as [Q|Q].
    + pose proof (sigmoid_low_true l Q). nra.
    + pose proof (sigmoid_high_true (- l) ltac:(lia)) as H.
      rewrite opposite_scaled, sg_opposite in H. rewrite minus_IZR, one_true. nra.
  - destruct (Z.leb_spec 0 h) as [Q|Q].
    + pose proof (sigmoid_high_true h Q). nra.
    + pose proof (sigmoid_low_true (- h) ltac:(lia)) as H.
      rewrite opposite_scaled, sg_opposite in H. rewrite minus_IZR, one_true. nra.
Qed.

(* Reciprocal, root, logarithm. *)
Lemma within_nonzero l h x : (0 < l)%Z \/ (h < 0)%Z -> IZR l <= x <= IZR h ->
  (0 < x /\ 0 < IZR l /\ 0 < IZR h) \/ (x < 0 /\ IZR l < 0 /\ IZR h < 0).
Proof. intros [H|H]; apply IZR_lt in H; lra. Qed.

Lemma reciprocal_at_true r y x : reciprocal_at r = Some y -> within r x ->
  x <> 0 /\ within y (S * / (x / S)).
Proof.
  destruct r as [l h]. unfold reciprocal_at, within.
  assert (D : (0 <? l)%Z || (h <? 0)%Z = true -> (0 < l)%Z \/ (h < 0)%Z).
  { intros D. apply orb_prop in D. destruct D as [D|D]; apply Z.ltb_lt in D; auto. }
  destruct (_ || _); [|discriminate]. intros [= <-] A. cbn [fst snd] in *.
  specialize (D eq_refl). pose proof (within_nonzero l h x D A) as N. pose proof S_positive as SP.
  assert (NX : x <> 0) by (destruct N; [apply Rgt_not_eq|apply Rlt_not_eq]; lra).
  split; [exact NX|].
  replace (S * / (x / S)) with (S * S * / x)
    by (field; repeat split; try exact NX; apply Rgt_not_eq; exact SP).
  pose proof (Rinv_r x NX) as XI. set (i := / x) in *.
  assert (SS : 0 < S * S) by nra.
  assert (L : IZR (one * one / h) <= S * S * i).
  { destruct D as [D|D].
    - assert (HH : (0 < h)%Z) by (apply IZR_lt in D; apply lt_IZR; destruct N; lra).
      pose proof (quotient_true (one * one) h HH) as Q. rewrite mult_IZR, one_true in Q.
      apply IZR_lt in HH. apply IZR_lt in D. assert (0 < i) by (apply Rinv_0_lt_compat; lra).
      assert (1 <= i * IZR h) by nra.
      apply Rmult_le_reg_r with (1 := HH). apply Rle_trans with (1 := Q). nra.
    - assert (E : (one * one / h = - (one * one) / - h)%Z)
        by (symmetry; apply Z.div_opp_opp; lia).
      pose proof (quotient_true (- (one * one)) (- h) ltac:(lia)) as Q'. rewrite <- E in Q'.
      rewrite !opp_IZR, mult_IZR, one_true in Q'. apply IZR_lt in D.
      assert (i < 0) by (apply Rinv_lt_0_compat; lra).
      assert (i * IZR h <= 1) by nra.
      apply Rmult_le_reg_r with (- IZR h); [lra|]. apply Rle_trans with (1 := Q'). nra. }
  assert (U : S * S * i <= IZR (over (one * one) l)).
  { destruct D as [D|D].
    - pose proof (over_true (one * one) l D) as Q. rewrite mult_IZR, one_true in Q.
      apply IZR_lt in D. assert (0 < i) by (apply Rinv_0_lt_compat; lra).
      assert (i * IZR l <= 1) by nra.
      apply Rmult_le_reg_r with (1 := D). apply Rle_trans with (2 := Q). nra.
    - assert (HL : (l < 0)%Z) by (apply IZR_lt in D; apply lt_IZR; destruct N; lra).
      assert (E : over (one * one) l = over (- (one * one)) (- l)).
      { unfold over. rewrite Z.div_opp_opp by lia. reflexivity. }
      rewrite E. pose proof (over_true (- (one * one)) (- l) ltac:(lia)) as Q.
      rewrite !opp_IZR, mult_IZR, one_true in Q. apply IZR_lt in HL.
      assert (i < 0) by (apply Rinv_lt_0_compat; apply IZR_lt in D; lra).
      assert (1 <= i * IZR l) by nra.
      apply Rmult_le_reg_r with (- IZR l); [lra|]. apply Rle_trans with (2 := Q). nra. }
  split; assumption.
Qed.

Lemma root_scaled x : 0 <= x -> S * sqrt (x / S) = sqrt (S * x).
Proof.
  intros X. pose proof S_positive as SP.
  rewrite <- (sqrt_square S) at 1 by lra. rewrite <- sqrt_mult; [|nra|].
  - f_equal. field. apply Rgt_not_eq; exact SP.
  - apply Rmult_le_pos; [exact X|left; apply Rinv_0_lt_compat; exact SP].
Qed.
Lemma sqrt_at_true r x : within r x -> within (sqrt_at r) (S * sqrt (x / S)).
Proof.
  destruct r as [l h]. unfold sqrt_at, within. cbn [fst snd]. intros [A B].
  pose proof S_positive as SP. pose proof (sqrt_pos (x / S)) as SQ. split.
  - destruct (Z.ltb_spec (l * one) 0) as [N|N].
    + rewrite Z.sqrt_neg by exact N. nra.
    + destruct (Z.sqrt_spec _ N) as [Q _]. apply IZR_le in Q.
      pose proof (Z.sqrt_nonneg (l * one)) as Z0. apply IZR_le in Z0.
      set (s := IZR (Z.sqrt (l * one))) in *. rewrite !mult_IZR, one_true in Q. fold s in Q.
      apply IZR_le in N. rewrite mult_IZR, one_true in N.
      assert (0 <= x) by nra.
      rewrite root_scaled by assumption. rewrite <- (sqrt_square s) by exact Z0.
      apply sqrt_le_1_alt. nra.
  - pose proof (Z.sqrt_nonneg (Z.max 0 h * one)) as Z0.
    assert (O : (0 < one)%Z) by (apply lt_IZR; rewrite one_true; exact SP).
    destruct (Z.sqrt_spec (Z.max 0 h * one) ltac:(nia)) as [_ Q]. apply IZR_lt in Q.
    rewrite plus_IZR. apply IZR_le in Z0.
    rewrite !mult_IZR, succ_IZR, one_true, IZR_max in Q.
    set (s := IZR (Z.sqrt (Z.max 0 h * one))) in *.
    destruct (Rle_dec 0 x) as [X|X].
    + rewrite root_scaled by exact X. rewrite <- (sqrt_square (s + 1)) by lra.
      apply sqrt_le_1_alt. unfold Rmax in Q. destruct Rle_dec in Q; nra.
    + rewrite (sqrt_neg_0 (x / S)); [lra|].
      apply Rlt_le. unfold Rdiv. pose proof (Rinv_0_lt_compat _ SP). nra.
Qed.

Lemma log_at_true r y x : log_at r = Some y -> within r x -> 0 < x /\ within y (S * ln (x / S)).
Proof.
  destruct r as [l h]. unfold log_at, within. destruct (Z.ltb_spec 0 l) as [P|P]; [|discriminate].
  unfold log_low, log_high.
  set (a := (log_near l - log_error)%Z). set (b := (log_near h + log_error)%Z).
  clearbody a b.
  destruct (exp_at (a, a)) as [[a0 a1]|] eqn:A; [|discriminate].
  destruct (Z.leb_spec a1 l) as [LA|]; [|discriminate].
  destruct (exp_at (b, b)) as [[b0 b1]|] eqn:B; [|discriminate].
  destruct (Z.leb_spec h b0) as [LB|]; [|discriminate].
  intros [= <-] [X0 X1]. cbn [fst snd] in *. pose proof S_positive as SP.
  apply IZR_lt in P. apply IZR_le in LA. apply IZR_le in LB.
  apply (exp_at_true _ _ (IZR a)) in A; [|unfold within; cbn [fst snd]; lra].
  apply (exp_at_true _ _ (IZR b)) in B; [|unfold within; cbn [fst snd]; lra].
  unfold within in A, B. cbn [fst snd] in A, B.
  assert (E : S * (x / S) = x) by (field; apply Rgt_not_eq; exact SP).
  assert (XS : 0 < x / S) by (apply Rmult_lt_0_compat; [lra|apply Rinv_0_lt_compat; exact SP]).
  assert (Fa : forall z, S * (z / S) = z) by (intros z; field; apply Rgt_not_eq; exact SP).
  split; [lra|split].
  - assert (exp (IZR a / S) <= x / S) by nra.
    apply ln_le in H; [|apply exp_pos]. rewrite ln_exp in H.
    pose proof (Fa (IZR a)). nra.
  - assert (x / S <= exp (IZR b / S)) by nra.
    apply ln_le in H; [|exact XS]. rewrite ln_exp in H.
    pose proof (Fa (IZR b)). nra.
Qed.

(* ---- Enclosures ---- *)

(* That f is in e for arguments between a and b. *)
Definition enclosure_true (e : enclosure) (f : R -> R) (a b : R) : Prop :=
  (forall z, a <= z <= b -> within (span e) (S * f z)) /\
  (forall d, slope e = Some d -> forall x y, a <= x <= b -> a <= y <= b ->
   exists t, within d t /\ S * (f y - f x) = t * (y - x)).

Lemma enclosure_same e f g a b : (forall z, a <= z <= b -> f z = g z) ->
  enclosure_true e f a b -> enclosure_true e g a b.
Proof.
  intros E [H1 H2]. split.
  - intros z Z. rewrite <- E by exact Z. auto.
  - intros d D x y X Y. rewrite <- !E by assumption. apply (H2 d D x y X Y).
Qed.

Lemma slope_by_derivative (h dh : R -> R) (r outer : range) :
  (forall c, within r (S * c) -> is_derive h c (dh c)) ->
  (forall c, within r (S * c) -> within outer (S * dh c)) ->
  forall u v, within r (S * u) -> within r (S * v) ->
  exists t, within outer t /\ S * (h v - h u) = t * (v - u).
Proof.
  intros D O u v U V. pose proof S_positive as SP.
  assert (B : forall c, Rmin u v <= c <= Rmax u v -> within r (S * c)).
  { intros c C. unfold within in *. unfold Rmin, Rmax in C.
    destruct (Rle_dec u v); split; nra. }
  destruct (MVT_gen h u v dh) as [c [C E]].
  - intros x X. apply D, B. lra.
  - intros x X. apply derivable_continuous_pt, ex_derive_Reals_0.
    exists (dh x). apply D, B, X.
  - exists (S * dh c). split; [apply O, B, C|]. rewrite E. ring.
Qed.

Lemma chained_true value outer e f h a b : enclosure_true e f a b ->
  (forall z, a <= z <= b -> within value (S * h (f z))) ->
  (forall o, outer = Some o -> forall u v, within (span e) (S * u) -> within (span e) (S * v) ->
   exists t, within o t /\ S * (h v - h u) = t * (v - u)) ->
  enclosure_true (chained value outer e) (fun z => h (f z)) a b.
Proof.
  intros [H1 H2] V O. split; [exact V|]. unfold chained. cbn [slope].
  destruct outer as [o|]; [|discriminate]. destruct (slope e) as [d|]; [|discriminate].
  intros d' [= <-] x y X Y.
  destruct (H2 d eq_refl x y X Y) as [t [T E]].
  destruct (O o eq_refl (f x) (f y) (H1 x X) (H1 y Y)) as [s [Q G]].
  exists (s * t / S). split; [apply product_true; assumption|].
  rewrite G. pose proof S_positive as SP.
  apply Rmult_eq_reg_l with S; [|apply Rgt_not_eq; exact SP].
  replace (S * (s * (f y - f x))) with (s * (S * (f y - f x))) by ring. rewrite E. field.
  apply Rgt_not_eq; exact SP.
Qed.

Lemma added_to_true e1 e2 f g a b : enclosure_true e1 f a b -> enclosure_true e2 g a b ->
  enclosure_true (added_to e1 e2) (fun z => f z + g z) a b.
Proof.
  intros [A1 A2] [B1 B2]. split.
  - intros z Z. rewrite Rmult_plus_distr_l. apply sum_of_true; auto.
  - unfold added_to. cbn [slope]. destruct (slope e1) as [c|]; [|discriminate].
    destruct (slope e2) as [d|]; [|discriminate]. intros o [= <-] x y X Y.
    destruct (A2 c eq_refl x y X Y) as [s [Hs Es]]. destruct (B2 d eq_refl x y X Y) as [t [Ht Et]].
    exists (s + t). split; [apply sum_of_true; assumption|]. lra.
Qed.

Lemma times_at_true e1 e2 f g a b : enclosure_true e1 f a b -> enclosure_true e2 g a b ->
  enclosure_true (times_at e1 e2) (fun z => f z * g z) a b.
Proof.
  pose proof S_positive as SP.
  assert (SN : S <> 0) by (apply Rgt_not_eq; exact SP).
  intros [A1 A2] [B1 B2]. split.
  - intros z Z. replace (S * (f z * g z)) with (S * f z * (S * g z) / S) by (field; exact SN).
    apply product_true; auto.
  - unfold times_at. cbn [slope]. destruct (slope e2) as [d|]; [|discriminate].
    destruct (slope e1) as [c|]; [|discriminate]. intros o [= <-] x y X Y.
    destruct (A2 c eq_refl x y X Y) as [s [Hs Es]]. destruct (B2 d eq_refl x y X Y) as [t [Ht Et]].
    exists (S * f y * t / S + S * g x * s / S). split.
    + apply sum_of_true; apply product_true; auto.
    + transitivity (f y * (S * (g y - g x)) + g x * (S * (f y - f x))); [ring|].
      rewrite Es, Et. field. exact SN.
Qed.

Lemma square_at_true e f a b : enclosure_true e f a b ->
  enclosure_true (square_at e) (fun z => f z * f z) a b.
Proof.
  intros H. pose proof (times_at_true e e f f a b H H) as [T1 T2]. split; [|exact T2].
  intros z Z. specialize (T1 z Z). unfold square_at, within in *. cbn [span fst snd] in *.
  rewrite IZR_max. pose proof S_positive. split; [|apply T1].
  apply Rmax_lub; [nra|apply T1].
Qed.

Lemma opposite_true e f a b : enclosure_true e f a b ->
  enclosure_true (opposite e) (fun z => - f z) a b.
Proof.
  intros [A1 A2]. split.
  - intros z Z. replace (S * - f z) with (- (S * f z)) by ring. apply negative_true; auto.
  - unfold opposite. cbn [slope]. destruct (slope e) as [c|]; [|discriminate].
    intros o [= <-] x y X Y. destruct (A2 c eq_refl x y X Y) as [s [Hs Es]].
    exists (- s). split; [apply negative_true; exact Hs|]. lra.
Qed.

Lemma ratio_between s t d z : s * d <= z <= t * d \/ t * d <= z <= s * d ->
  exists q, (s <= q <= t \/ t <= q <= s) /\ z = q * d.
Proof.
  intros H. destruct (Req_dec d 0) as [->|N].
  - exists s. split; [destruct (Rle_dec s t); [left|right]; lra|lra].
  - exists (z / d). split; [|field; exact N].
    assert (E : z = z / d * d) by (field; exact N). set (q := z / d) in *. clearbody q. subst z.
    destruct (Rle_dec d 0) as [D|D]; destruct (Rle_dec s t) as [L|L];
      [left|right|left|right]; destruct H as [[H1 H2]|[H1 H2]]; split; nra.
Qed.

Lemma greater_true e1 e2 f g a b : enclosure_true e1 f a b -> enclosure_true e2 g a b ->
  enclosure_true (greater e1 e2) (fun z => Rmax (f z) (g z)) a b.
Proof.
  pose proof S_positive as SP. intros A B. unfold greater.
  destruct (Z.leb_spec (snd (span e2)) (fst (span e1))) as [L|L].
  { apply enclosure_same with (2 := A). intros z Z. apply IZR_le in L.
    pose proof (proj1 A z Z) as [A1 _]. pose proof (proj1 B z Z) as [_ B1].
    symmetry. apply Rmax_left. nra. }
  clear L. destruct (Z.leb_spec (snd (span e1)) (fst (span e2))) as [L|L].
  { apply enclosure_same with (2 := B). intros z Z. apply IZR_le in L.
    pose proof (proj1 A z Z) as [_ A1]. pose proof (proj1 B z Z) as [B1 _].
    symmetry. apply Rmax_right. nra. }
  clear L. destruct A as [A1 A2], B as [B1 B2]. split.
  - intros z Z. specialize (A1 z Z). specialize (B1 z Z). unfold within in *. cbn [span fst snd].
    rewrite !IZR_max. unfold Rmax. repeat destruct Rle_dec; nra.
  - cbn [slope]. destruct (slope e1) as [c|]; [|discriminate].
    destruct (slope e2) as [d|]; [|discriminate]. intros o [= <-] x y X Y.
    destruct (A2 c eq_refl x y X Y) as [s [Hs Es]]. destruct (B2 d eq_refl x y X Y) as [t [Ht Et]].
    assert (Q : s * (y - x) <= S * (Rmax (f y) (g y) - Rmax (f x) (g x)) <= t * (y - x) \/
                t * (y - x) <= S * (Rmax (f y) (g y) - Rmax (f x) (g x)) <= s * (y - x)).
    { rewrite <- Es, <- Et. unfold Rmax. destruct (Rle_dec (f y) (g y)) as [P|P];
        destruct (Rle_dec (f x) (g x)) as [K|K].
      - destruct (Rle_dec (S * (f y - f x)) (S * (g y - g x))); [left|right]; lra.
      - left. split; nra.
      - right. split; nra.
      - destruct (Rle_dec (S * (f y - f x)) (S * (g y - g x))); [left|right]; lra. }
    destruct (ratio_between _ _ _ _ Q) as [q [Hq Eq]]. exists q. split; [|exact Eq].
    apply (hull_between c d s t q Hs Ht Hq).
Qed.

Lemma concave_least l h x s : l <= x <= h -> Rmin (l * (s - l)) (h * (s - h)) <= x * (s - x).
Proof.
  intros H. destruct (Req_dec l h) as [E|E].
  - assert (x = l) by lra. subst x. apply Rmin_l.
  - apply Rmult_le_reg_l with (h - l); [lra|].
    assert (Q : 0 <= (x - l) * (h - x) * (h - l)).
    { apply Rmult_le_pos; [apply Rmult_le_pos|]; lra. }
    pose proof (Rmin_l (l * (s - l)) (h * (s - h))) as A.
    pose proof (Rmin_r (l * (s - l)) (h * (s - h))) as B.
    set (m := Rmin _ _) in *.
    assert ((h - x) * m <= (h - x) * (l * (s - l))) by (apply Rmult_le_compat_l; lra).
    assert ((x - l) * m <= (x - l) * (h * (s - h))) by (apply Rmult_le_compat_l; lra).
    lra.
Qed.

Lemma sigmoid_slope_true y x : within y (S * x) -> within (sigmoid_slope y) (S * (x * (1 - x))).
Proof.
  destruct y as [l h]. unfold within, sigmoid_slope. cbn [fst snd]. intros H.
  pose proof S_positive as SP.
  assert (E : S * (S * (x * (1 - x))) = (S * x) * (S - S * x)) by ring.
  set (X := S * x) in *. split.
  - apply down_true. rewrite E, IZR_min, !mult_IZR, !minus_IZR, one_true.
    apply concave_least. exact H.
  - destruct (Z.ltb_spec (2 * l) one) as [A|A]; destruct (Z.ltb_spec one (2 * h)) as [B|B];
      cbn [andb].
    1:{ assert (Q : IZR (Z.shiftr one 2) = S / 4).
        { rewrite <- one_true. Transparent one bits.
          assert (K : (Z.shiftr one 2 * 4 = one)%Z) by (vm_compute; reflexivity).
          Opaque one bits. apply (f_equal IZR) in K. rewrite mult_IZR in K. lra. }
        rewrite Q. apply Rmult_le_reg_l with (1 := SP). rewrite E.
        assert (0 <= (X - S / 2) * (X - S / 2)) by apply Rle_0_sqr. lra. }
    all: apply up_true; rewrite E, IZR_max, !mult_IZR, !minus_IZR, one_true.
    all: try apply IZR_le in A; try apply IZR_le in B; try apply IZR_lt in A; try apply IZR_lt in B.
    all: rewrite mult_IZR, one_true in A; rewrite mult_IZR, one_true in B.
    + apply Rle_trans with (2 := Rmax_r _ _).
      assert (0 <= (IZR h - X) * (S - IZR h - X)) by (apply Rmult_le_pos; lra). lra.
    + apply Rle_trans with (2 := Rmax_l _ _).
      assert (0 <= (X - IZR l) * (X + IZR l - S)) by (apply Rmult_le_pos; lra). lra.
    + apply Rle_trans with (2 := Rmax_l _ _).
      assert (0 <= (X - IZR l) * (X + IZR l - S)) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma floor_at_true e f a b : enclosure_true e f a b ->
  enclosure_true (floor_at e) (fun z => IZR (Zfloor (f z))) a b.
Proof.
  intros [A1 A2]. pose proof S_positive as SP. unfold floor_at.
  assert (H : forall z, a <= z <= b -> within (Z.shiftl (down (fst (span e))) bits,
    Z.shiftl (down (snd (span e))) bits) (S * IZR (Zfloor (f z)))).
  { intros z Z. specialize (A1 z Z). unfold within in *. cbn [fst snd].
    rewrite !shiftl_true by apply bits_natural. fold S.
    split; apply Rmult_le_compat_l; try lra; apply IZR_le.
    - apply Zfloor_lub. apply down_true. lra.
    - unfold down. rewrite Z.shiftr_div_pow2 by apply bits_natural.
      apply Z.div_le_lower_bound; [apply Z.pow_pos_nonneg; [lia|apply bits_natural]|].
      apply le_IZR. rewrite mult_IZR. fold S.
      pose proof (Zfloor_lb (f z)). nra. }
  split; [exact H|]. cbn [slope].
  destruct (Z.eqb_spec (Z.shiftl (down (fst (span e))) bits) (Z.shiftl (down (snd (span e))) bits))
    as [E|E]; [|discriminate].
  intros d [= <-] x y X Y. exists 0. unfold within in *. cbn [fst snd] in *.
  pose proof (H x X) as Hx. pose proof (H y Y) as Hy. rewrite <- E in Hx, Hy.
  split; [lra|]. rewrite Rmult_minus_distr_l. lra.
Qed.

(* ---- Steps ---- *)

#[local] Opaque sqrt_at reciprocal_at exp_at log_at sigmoid_at sigmoid_slope floor_at product.

Lemma nth_of_index A (l : list A) : forall i x,
  at_index i l = Some x -> nth_error l (N.to_nat i) = Some x.
Proof.
  induction l as [|y l IH]; simpl; intros i x; [discriminate|].
  destruct (N.eqb_spec i 0) as [->|N0]; [intros H; exact H|].
  intros H. apply IH in H.
  replace (N.to_nat i) with (Datatypes.S (N.to_nat (N.pred i))) by lia. exact H.
Qed.

(* The values of steps so far, for each argument, and what is known of them. *)
Definition steps_true (es : list enclosure) (vs : R -> list R) (a b : R) : Prop :=
  (forall z, length (vs z) = length es) /\
  (forall n e, nth_error es n = Some e -> enclosure_true e (fun z => nth n (vs z) 0) a b).

Lemma index_true es vs a b i e : steps_true es vs a b -> at_index i es = Some e ->
  enclosure_true e (fun z => at_step (vs z) i) a b.
Proof. intros [_ H] K. apply H, nth_of_index, K. Qed.

Lemma two_some A B (f : A -> A -> B) x y z : two f x y = Some z ->
  exists a b, x = Some a /\ y = Some b /\ f a b = z.
Proof. destruct x as [a|], y as [b|]; try discriminate. intros [= <-]. exists a, b. auto. Qed.

Lemma back_scaled x : S * x / S = x.
Proof. field. apply Rgt_not_eq, S_positive. Qed.

Lemma step_enclosed_true s ze es vs a b e :
  enclosure_true ze (fun z => z) a b -> steps_true es vs a b -> step_enclosed s ze es = Some e ->
  enclosure_true e (fun z => step_value s z (vs z)) a b.
Proof.
  intros Z T. pose proof S_positive as SP.
  destruct s as [|q|i j|i j|i j|i j|i|i|i|i|i|i|i|i|i|i|i]; cbn [step_enclosed step_value];
    try discriminate.
  - intros [= <-]. exact Z.
  - intros [= <-]. split; cbn [span slope].
    + intros z _. unfold within. cbn [fst snd]. rewrite Rmult_comm.
      split; [apply floor_of_true|apply ceil_of_true]; apply bits_natural.
    + intros d [= <-] x y _ _. exists 0. unfold within. cbn [fst snd]. lra.
  - intros H. apply two_some in H. destruct H as (x & y & X & Y & <-).
    apply (added_to_true x y _ _ a b (index_true _ _ _ _ _ _ T X) (index_true _ _ _ _ _ _ T Y)).
  - destruct (N.eqb_spec i j) as [<-|_].
    + destruct (at_index i es) as [x|] eqn:X; [|discriminate]. intros [= <-].
      apply (square_at_true x _ a b (index_true _ _ _ _ _ _ T X)).
    + intros H. apply two_some in H. destruct H as (x & y & X & Y & <-).
      apply (times_at_true x y _ _ a b (index_true _ _ _ _ _ _ T X) (index_true _ _ _ _ _ _ T Y)).
  - intros H. apply two_some in H. destruct H as (x & y & X & Y & <-).
    apply (greater_true x y _ _ a b (index_true _ _ _ _ _ _ T X) (index_true _ _ _ _ _ _ T Y)).
  - intros H. apply two_some in H. destruct H as (x & y & X & Y & <-).
    pose proof (opposite_true _ _ _ _ (greater_true _ _ _ _ a b
      (opposite_true _ _ _ _ (index_true _ _ _ _ _ _ T X))
      (opposite_true _ _ _ _ (index_true _ _ _ _ _ _ T Y)))) as H.
    apply enclosure_same with (2 := H). intros z _.
    unfold Rmax, Rmin. repeat destruct Rle_dec; lra.
  - destruct (at_index i es) as [x|] eqn:X; [|discriminate].
    apply (index_true _ _ _ _ _ _ T) in X.
    destruct (reciprocal_at (span x)) as [y|] eqn:Y; [|discriminate]. intros [= <-].
    assert (P : forall c, within (span x) (S * c) -> c <> 0 /\ within y (S * / c)).
    { intros c C. destruct (reciprocal_at_true _ _ _ Y C) as [N W]. rewrite back_scaled in W.
      split; [|exact W]. intros ->. lra. }
    apply (chained_true y _ x _ Rinv a b X).
    + intros z Hz. apply P, X, Hz.
    + intros o [= <-]. apply slope_by_derivative with (dh := fun c => - (/ c * / c)).
      * intros c C. destruct (P c C) as [N _]. auto_derive; [exact N|field; exact N].
      * intros c C. destruct (P c C) as [_ W].
        replace (S * - (/ c * / c)) with (- (S * / c * (S * / c) / S)).
        -- apply negative_true, product_true; exact W.
        -- rewrite <- (back_scaled (S * - (/ c * / c))). unfold Rdiv. ring.
  - destruct (at_index i es) as [x|] eqn:X; [|discriminate].
    apply (index_true _ _ _ _ _ _ T) in X.
    destruct (exp_at (span x)) as [y|] eqn:Y; [|discriminate]. intros [= <-].
    assert (P : forall c, within (span x) (S * c) -> within y (S * exp c)).
    { intros c C. pose proof (exp_at_true _ _ _ Y C) as W. rewrite back_scaled in W. exact W. }
    apply (chained_true y _ x _ exp a b X).
    + intros z Hz. apply P, X, Hz.
    + intros o [= <-]. apply slope_by_derivative with (dh := exp).
      * intros c _. apply is_derive_exp.
      * exact P.
  - destruct (at_index i es) as [x|] eqn:X; [|discriminate].
    apply (index_true _ _ _ _ _ _ T) in X.
    destruct (log_at (span x)) as [y|] eqn:Y; [|discriminate]. intros [= <-].
    assert (P : forall c, within (span x) (S * c) -> 0 < c /\ within y (S * ln c)).
    { intros c C. destruct (log_at_true _ _ _ Y C) as [N W]. rewrite back_scaled in W.
      split; [nra|exact W]. }
    apply (chained_true y _ x _ ln a b X).
    + intros z Hz. apply P, X, Hz.
    + intros o O. apply slope_by_derivative with (dh := Rinv).
      * intros c C. apply is_derive_ln. apply (P c C).
      * intros c C. destruct (reciprocal_at_true _ _ _ O C) as [_ W].
        rewrite back_scaled in W. exact W.
  - destruct (at_index i es) as [x|] eqn:X; [|discriminate].
    apply (index_true _ _ _ _ _ _ T) in X. intros [= <-].
    assert (P : forall c, within (span x) (S * c) -> within (sqrt_at (span x)) (S * sqrt c)).
    { intros c C. pose proof (sqrt_at_true _ _ C) as W. rewrite back_scaled in W. exact W. }
    apply (chained_true _ _ x _ sqrt a b X).
    + intros z Hz. apply P, X, Hz.
    + intros o O.
      destruct (Z.ltb_spec 0 (fst (span x))) as [L|]; [|discriminate O].
      destruct (0 <? fst (sqrt_at (span x)))%Z; [|discriminate O]. cbn [andb] in O.
      destruct (reciprocal_at (sqrt_at (span x))) as [r|] eqn:Q; [|discriminate O].
      revert O. intros [= <-]. apply IZR_lt in L.
      assert (C0 : forall c, within (span x) (S * c) -> 0 < c).
      { intros c [C _]. nra. }
      apply slope_by_derivative with (dh := fun c => / (2 * sqrt c)).
      * intros c C. specialize (C0 c C). auto_derive; [exact C0|].
        pose proof (sqrt_lt_R0 c C0). field. apply Rgt_not_eq. assumption.
      * intros c C. pose proof (sqrt_lt_R0 c (C0 c C)) as SQ.
        destruct (reciprocal_at_true _ _ _ Q (P c C)) as [_ W]. rewrite back_scaled in W.
        replace (S * / (2 * sqrt c)) with (S * / sqrt c / 2) by (field; apply Rgt_not_eq; exact SQ).
        unfold within in *. cbn [fst snd]. split.
        -- apply shiftr_below; [lia|]. change (2 ^ 1)%Z with 2%Z. lra.
        -- apply shiftr_above; [lia|]. change (2 ^ 1)%Z with 2%Z. lra.
  - destruct (at_index i es) as [x|] eqn:X; [|discriminate].
    apply (index_true _ _ _ _ _ _ T) in X. intros [= <-].
    apply (chained_true _ _ x _ sg a b X).
    + intros z Hz. pose proof (sigmoid_at_true _ _ (proj1 X z Hz)) as W.
      rewrite back_scaled in W. exact W.
    + intros o [= <-]. apply slope_by_derivative with (dh := fun c => sg c * (1 - sg c)).
      * intros c _. unfold sg. pose proof (sg_denominator c) as D.
        auto_derive; [apply Rgt_not_eq; exact D|field; apply Rgt_not_eq; exact D].
      * intros c C. apply sigmoid_slope_true.
        pose proof (sigmoid_at_true _ _ C) as W. rewrite back_scaled in W. exact W.
  - destruct (at_index i es) as [x|] eqn:X; [|discriminate].
    apply (index_true _ _ _ _ _ _ T) in X. intros [= <-].
    apply (floor_at_true x _ a b X).
Qed.

Lemma steps_true_next es vs e s a b : steps_true es vs a b ->
  enclosure_true e (fun z => step_value s z (vs z)) a b ->
  steps_true (es ++ [e]) (fun z => vs z ++ [step_value s z (vs z)]) a b.
Proof.
  intros [L T] E. split.
  - intros z. rewrite !app_length, L. reflexivity.
  - intros n x G. destruct (Nat.lt_ge_cases n (length es)) as [K|K].
    + rewrite nth_error_app1 in G by exact K. apply T in G.
      apply enclosure_same with (2 := G). intros z _. rewrite app_nth1; [reflexivity|].
      rewrite L. exact K.
    + rewrite nth_error_app2 in G by exact K.
      destruct (n - length es)%nat as [|k] eqn:Q; simpl in G; [|destruct k; discriminate].
      injection G as <-. apply enclosure_same with (2 := E). intros z _.
      rewrite app_nth2 by (rewrite L; exact K). rewrite L, Q. reflexivity.
Qed.

Lemma steps_enclosed_true p ze a b : enclosure_true ze (fun z => z) a b ->
  forall es vs l, steps_true es vs a b -> steps_enclosed p ze es = Some l ->
  steps_true l (fun z => run_steps p z (vs z)) a b.
Proof.
  intros Z. induction p as [|s p IH]; simpl; intros es vs l T.
  - intros [= <-]. exact T.
  - destruct (step_enclosed s ze es) as [e|] eqn:E; [|discriminate].
    apply (step_enclosed_true s ze es vs a b e Z T) in E.
    apply (IH (es ++ [e]) (fun z => vs z ++ [step_value s z (vs z)])).
    apply steps_true_next; assumption.
Qed.

(* Where a program without roots is enclosed, its steps have values. *)
Definition is_root (s : step) : bool := match s with Sqrt _ => true | _ => false end.
Lemma steps_enclosed_defined p ze a b z : enclosure_true ze (fun z => z) a b -> a <= z <= b ->
  existsb is_root p = false ->
  forall es vs l, steps_true es vs a b -> steps_enclosed p ze es = Some l ->
  steps_defined p z (vs z).
Proof.
  intros Z ZI. pose proof S_positive as SP.
  induction p as [|s p IH]; simpl; intros R es vs l T; [auto|].
  apply orb_false_elim in R. destruct R as [R1 R2].
  destruct (step_enclosed s ze es) as [e|] eqn:E; [|discriminate]. intros H.
  pose proof (step_enclosed_true s ze es vs a b e Z T E) as TE. split.
  - destruct s as [|q|i j|i j|i j|i j|i|i|i|i|i|i|i|i|i|i|i]; simpl; auto; try discriminate;
      simpl in E; destruct (at_index i es) as [x|] eqn:X; try discriminate;
      apply (index_true _ _ _ _ _ _ T) in X; pose proof (proj1 X z ZI) as W; cbv beta in W.
    + destruct (reciprocal_at (span x)) as [y|] eqn:Y; [|discriminate].
      destruct (reciprocal_at_true _ _ _ Y W) as [N _]. intros Q. apply N. rewrite Q. ring.
    + destruct (log_at (span x)) as [y|] eqn:Y; [|discriminate].
      destruct (log_at_true _ _ _ Y W) as [N _]. nra.
  - apply (IH R2 (es ++ [e]) (fun z => vs z ++ [step_value s z (vs z)]) l); auto.
    apply steps_true_next; assumption.
Qed.

Lemma argument_true a b : enclosure_true {| span := (a, b); slope := Some (one, one) |}
  (fun z => z) (IZR a / S) (IZR b / S).
Proof.
  pose proof S_positive as SP. split; cbn [span slope].
  - intros z [A B]. unfold within. cbn [fst snd].
    assert (Fa : forall z, S * (z / S) = z) by (intros y; field; apply Rgt_not_eq; exact SP).
    split; [rewrite <- (Fa (IZR a))|rewrite <- (Fa (IZR b))]; apply Rmult_le_compat_l; lra.
  - intros d [= <-] x y _ _. exists S. unfold within. cbn [fst snd]. rewrite one_true. lra.
Qed.

Lemma program_on_defined p a b e z : program_on p a b = Some e -> existsb is_root p = false ->
  IZR a / S <= z <= IZR b / S -> steps_defined p z [].
Proof.
  unfold program_on. pose proof (argument_true a b) as Z.
  destruct steps_enclosed as [l|] eqn:E; [|discriminate]. intros _ R ZI.
  apply (steps_enclosed_defined p _ _ _ z Z ZI R [] (fun _ => []) l); [|exact E].
  split; [reflexivity|]. intros [|n] x; discriminate.
Qed.

Lemma program_on_true p a b e : program_on p a b = Some e ->
  enclosure_true e (program_value p) (IZR a / S) (IZR b / S).
Proof.
  unfold program_on. set (ze := {| span := (a, b); slope := Some (one, one) |}).
  pose proof (argument_true a b) as Z. fold ze in Z.
  destruct (steps_enclosed p ze []) as [l|] eqn:E; [|discriminate].
  apply (steps_enclosed_true p ze _ _ Z [] (fun _ => [])) in E.
  2:{ split; [reflexivity|]. intros [|n] x; discriminate. }
  destruct E as [L T]. rewrite rev_append_rev, app_nil_r.
  destruct (rev l) as [|e' l'] eqn:Q; [discriminate|]. intros [= <-].
  assert (K : l = rev l' ++ [e']) by (rewrite <- (rev_involutive l), Q; reflexivity).
  assert (G : nth_error l (length (rev l')) = Some e').
  { rewrite K, nth_error_app2 by lia. rewrite Nat.sub_diag. reflexivity. }
  apply T in G. apply enclosure_same with (2 := G). intros z _. unfold program_value.
  specialize (L z). rewrite K, app_length in L. simpl in L.
  destruct (exists_last (l := run_steps p z [])) as [m [x M]].
  { intros N. rewrite N in L. simpl in L. lia. }
  rewrite M in *. rewrite last_last. rewrite app_length in L. simpl in L.
  rewrite app_nth2 by lia. replace (length (rev l') - length m)%nat with 0%nat by lia. reflexivity.
Qed.
