(* Lines of functions: `enclosed_true`, the last lemma. The range of an argument is cut into 32
   pieces; on each the slopes of the function say how far it is above its values at the ends. *)

From Coq Require Import Reals ZArith NArith List Lra Lia Bool.
Require Import Network Certificate Table Bounds Functions.
Import ListNotations.
Local Open Scope Z_scope.

(* ---- Pieces and lines ---- *)

(* f on [start, stop], and its values at both. *)
Record piece := { start : Z; stop : Z; at_start : range; at_stop : range; inside_of : enclosure }.

Fixpoint pieces (f : Z -> Z -> option enclosure) (n : nat) (i l u unit a : Z) (value : range)
    : option (list piece) :=
  let e := match n with O => u | Datatypes.S _ => l + i * (u - l) / 32 end in
  let stop := Z.shiftl e unit in
  match f stop stop, f a stop with
  | Some v, Some inside =>
    let p := {| start := a; stop := stop; at_start := value; at_stop := span v;
                inside_of := inside |} in
    match n with
    | O => Some [p]
    | Datatypes.S n =>
      match pieces f n (i + 1) l u unit stop (span v) with
      | Some ps => Some (p :: ps)
      | None => None
      end
    end
  | _, _ => None
  end.
Definition all_pieces (f : Z -> Z -> option enclosure) (l u unit : Z) : option (list piece) :=
  let a := Z.shiftl l unit in
  match f a a with
  | Some v => pieces f (if u - l <? 32 then O else 31%nat) 1 l u unit a (span v)
  | None => None
  end.

Definition mirrored (p : piece) : piece :=
  {| start := start p; stop := stop p; at_start := negative (at_start p);
     at_stop := negative (at_stop p); inside_of := opposite (inside_of p) |}.

(* A bound above of f(z) - k z on a piece; k in units of 2^-P. *)
Definition offset_of (weight_bits k : Z) (p : piece) : Z :=
  let along x := Z.shiftr (k * x) weight_bits in
  let at_a := along (start p) in
  let at_b := along (stop p) in
  let known := snd (span (inside_of p)) - Z.min at_a at_b in
  match slope (inside_of p) with
  | None => known
  | Some (dl, dh) =>
    let k' := Z.shiftl k (bits - weight_bits) in
    let least := dl - k' in
    let most := dh - k' in
    let a := snd (at_start p) - at_a in
    let b := snd (at_stop p) - at_b in
    let c :=
      if most <=? 0 then a
      else if 0 <=? least then b
      else
        over (most * b - least * a + up (- (least * most * (stop p - start p)))) (most - least) in
    Z.min known c
  end.
Fixpoint offset_on (weight_bits k : Z) (ps : list piece) : option Z :=
  match ps with
  | [] => None
  | p :: rest =>
    let c := offset_of weight_bits k p in
    match offset_on weight_bits k rest with Some d => Some (Z.max c d) | None => Some c end
  end.

(* The slope of the edge over a place of the upper concave envelope of the pieces' ends, the
   leftmost first. Any slope is sound. *)
Definition place := (Z * Z)%type.
Fixpoint without_lower (x y : Z) (l : list place) : list place :=
  match l with
  | (x1, y1) :: (((x0, y0) :: _) as rest) =>
    if (y1 - y0) * (x - x1) <=? (y - y1) * (x1 - x0) then without_lower x y rest else l
  | _ => l
  end.
Fixpoint envelope (ps : list piece) (l : list place) : list place :=
  match ps with
  | [] => l
  | p :: rest =>
    if start p <? stop p then
      let x := stop p in
      let y := snd (at_stop p) in
      envelope rest ((x, y) :: without_lower x y l)
    else envelope rest l
  end.
(* The places descend. *)
Fixpoint edge (weight_bits at_place : Z) (l : list place) : Z :=
  match l with
  | (x1, y1) :: (((x0, y0) :: _) as rest) =>
    if (x0 <=? at_place) || match rest with _ :: _ :: _ => false | _ => true end
    then Z.shiftl (y1 - y0) weight_bits / (x1 - x0)
    else edge weight_bits at_place rest
  | _ => 0
  end.
Definition slope_above (weight_bits at_place : Z) (ps : list piece) : Z :=
  match ps with
  | p :: _ => edge weight_bits at_place (envelope ps [(start p, snd (at_start p))])
  | [] => 0
  end.

(* Bounds of the values for arguments in [l, u], and lines with the slopes of place t of 128. *)
Definition enclosed (weight_bits value_bits t : Z) (p : program) (l u : Z)
    : option (Z * Z * more) :=
  let unit := bits - value_bits in
  if (weight_bits <=? bits) && (value_bits <=? bits) then
    match all_pieces (program_on p) l u unit with
    | Some ps =>
      let minus := map mirrored ps in
      let at_place := Z.shiftl (l + Z.shiftr (t * (u - l)) 7) unit in
      let k := slope_above weight_bits at_place ps in
      let k' := slope_above weight_bits at_place minus in
      match offset_on weight_bits 0 ps, offset_on weight_bits 0 minus,
            offset_on weight_bits k ps, offset_on weight_bits k' minus with
      | Some most, Some least, Some c, Some c' =>
        let coarse x := - Z.shiftr (- x) unit in
        let line x := - Z.shiftr (- Z.shiftl x weight_bits) unit in
        Some (- coarse least, coarse most, Lines (- k') (- line c') k (line c))
      | _, _, _, _ => None
      end
    | None => None
    end
  else None.

(* ---- The proof ---- *)

#[local] Opaque bits one.
Local Open Scope R_scope.

Definition piece_true (f : R -> R) (p : piece) : Prop :=
  enclosure_true (inside_of p) f (IZR (start p) / S) (IZR (stop p) / S) /\
  within (at_start p) (S * f (IZR (start p) / S)) /\
  within (at_stop p) (S * f (IZR (stop p) / S)).

Lemma mirrored_true f p : piece_true f p -> piece_true (fun z => - f z) (mirrored p).
Proof.
  intros (A & B & C). split; [|split]; cbn [inside_of at_start at_stop start stop mirrored].
  - apply opposite_true, A.
  - rewrite <- Ropp_mult_distr_r. apply negative_true, B.
  - rewrite <- Ropp_mult_distr_r. apply negative_true, C.
Qed.

Lemma scaled_back x : S * (x / S) = x.
Proof. field. apply Rgt_not_eq, S_positive. Qed.

(* A function above whose slopes are in [p, q] is below the lines from its ends. *)
Lemma between_ends g A B p q t s : p < 0 < q -> g <= A + q * t -> g <= B - p * s ->
  g * (q - p) <= q * B - p * A - p * q * (t + s).
Proof.
  intros H G1 G2.
  assert (q * g <= q * (B - p * s)) by (apply Rmult_le_compat_l; lra).
  assert ((- p) * g <= (- p) * (A + q * t)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma offset_of_true weight_bits k f p z : (0 <= weight_bits <= bits)%Z -> piece_true f p ->
  IZR (start p) / S <= z <= IZR (stop p) / S ->
  S * f z - IZR k * (S * z) / W weight_bits <= IZR (offset_of weight_bits k p).
Proof.
  intros [WN WB] ((V1 & V2) & A & B) Z. pose proof S_positive as SP.
  pose proof (W_positive weight_bits WN) as WP.
  set (w := W weight_bits) in *.
  assert (L : forall x, IZR (Z.shiftr (k * x) weight_bits) <= IZR k * IZR x / w).
  { intros x. apply shiftr_below; [exact WN|]. fold w. unfold W in w. fold w.
    rewrite mult_IZR. right. field. apply Rgt_not_eq. exact WP. }
  unfold offset_of.
  set (at_a := Z.shiftr (k * start p) weight_bits). set (at_b := Z.shiftr (k * stop p) weight_bits).
  pose proof (L (start p)) as La. pose proof (L (stop p)) as Lb. fold at_a in La. fold at_b in Lb.
  clear L.
  assert (ZB : IZR (start p) <= S * z <= IZR (stop p)).
  { rewrite <- (scaled_back (IZR (start p))), <- (scaled_back (IZR (stop p))).
    split; apply Rmult_le_compat_l; lra. }
  assert (K : S * f z - IZR k * (S * z) / w <=
    IZR (snd (span (inside_of p)) - Z.min at_a at_b)).
  { rewrite minus_IZR, IZR_min. pose proof (V1 z Z) as [_ V].
    pose proof (linear_least (IZR k / w) 0 _ _ _ ZB) as Q.
    unfold Rdiv in *. revert Q. unfold Rmin. repeat destruct Rle_dec; lra. }
  destruct (slope (inside_of p)) as [[dl dh]|]; [|exact K].
  rewrite IZR_min. apply Rmin_glb; [exact K|]. clear K.
  assert (Z0 : IZR (start p) / S <= IZR (stop p) / S) by lra.
  destruct (V2 _ eq_refl (IZR (start p) / S) z) as [t1 [T1 E1]]; [lra|exact Z|].
  destruct (V2 _ eq_refl z (IZR (stop p) / S)) as [t2 [T2 E2]]; [exact Z|lra|].
  clear V1 V2. unfold within in T1, T2, A, B. cbn [fst snd] in T1, T2.
  set (least := (dl - Z.shiftl k (bits - weight_bits))%Z).
  set (most := (dh - Z.shiftl k (bits - weight_bits))%Z).
  assert (KS : IZR (Z.shiftl k (bits - weight_bits)) = IZR k * S / w).
  { rewrite shiftl_true by lia. apply Rmult_eq_reg_r with w; [|apply Rgt_not_eq; exact WP].
    replace (IZR k * S / w * w) with (IZR k * S) by (field; apply Rgt_not_eq; exact WP).
    rewrite (Rmult_comm _ (IZR k)), Rmult_assoc. f_equal. unfold w, W, S.
    rewrite <- mult_IZR, <- Z.pow_add_r by lia. f_equal. f_equal. lia. }
  assert (PL : IZR least = IZR dl - IZR k * S / w) by (unfold least; rewrite minus_IZR, KS; ring).
  assert (PM : IZR most = IZR dh - IZR k * S / w) by (unfold most; rewrite minus_IZR, KS; ring).
  set (a := (snd (at_start p) - at_a)%Z). set (b := (snd (at_stop p) - at_b)%Z).
  set (t := z - IZR (start p) / S). set (s := IZR (stop p) / S - z).
  assert (T : 0 <= t) by (unfold t; lra). assert (S0 : 0 <= s) by (unfold s; lra).
  set (G := S * f z - IZR k * (S * z) / w).
  assert (GA : G <= IZR a + (t1 - IZR k * S / w) * t).
  { unfold a. rewrite minus_IZR.
    assert (G = S * f (IZR (start p) / S) + t1 * t - IZR k * (S * z) / w) by (unfold G, t; lra).
    assert (IZR k * (S * z) / w = IZR k * IZR (start p) / w + IZR k * S / w * t).
    { unfold t. field. split; apply Rgt_not_eq; assumption. }
    rewrite Rmult_minus_distr_r. lra. }
  assert (GB : G <= IZR b - (t2 - IZR k * S / w) * s).
  { unfold b. rewrite minus_IZR.
    assert (G = S * f (IZR (stop p) / S) - t2 * s - IZR k * (S * z) / w) by (unfold G, s; lra).
    assert (IZR k * (S * z) / w = IZR k * IZR (stop p) / w - IZR k * S / w * s).
    { unfold s. field. split; apply Rgt_not_eq; assumption. }
    rewrite Rmult_minus_distr_r. lra. }
  assert (GA' : G <= IZR a + IZR most * t).
  { apply Rle_trans with (1 := GA). apply Rplus_le_compat_l, Rmult_le_compat_r; lra. }
  assert (GB' : G <= IZR b - IZR least * s).
  { apply Rle_trans with (1 := GB). unfold Rminus. apply Rplus_le_compat_l, Ropp_le_contravar.
    apply Rmult_le_compat_r; lra. }
  assert (TS : t + s = (IZR (stop p) - IZR (start p)) / S) by (unfold t, s, Rdiv; ring).
  clearbody G t s a b least most. clear GA GB.
  destruct (Z.leb_spec most 0) as [M|M].
  { apply IZR_le in M. nra. }
  destruct (Z.leb_spec 0 least) as [N|N].
  { apply IZR_le in N. nra. }
  pose proof (over_true (most * b - least * a + up (- (least * most * (stop p - start p))))
    (most - least) ltac:(lia)) as O.
  apply IZR_lt in M. apply IZR_lt in N.
  assert (Q : - (IZR least * IZR most * ((IZR (stop p) - IZR (start p)) / S)) <=
    IZR (up (- (least * most * (stop p - start p))))).
  { apply up_true. rewrite opp_IZR, !mult_IZR, minus_IZR. right. field.
    apply Rgt_not_eq; exact SP. }
  pose proof (between_ends G (IZR a) (IZR b) (IZR least) (IZR most) t s (conj N M) GA' GB') as H.
  rewrite TS in H. rewrite plus_IZR, !minus_IZR, !mult_IZR in O.
  apply Rmult_le_reg_r with (IZR most - IZR least); lra.
Qed.

Lemma offset_on_true weight_bits k f ps c : (0 <= weight_bits <= bits)%Z ->
  (forall p, In p ps -> piece_true f p) -> offset_on weight_bits k ps = Some c ->
  forall p z, In p ps -> IZR (start p) / S <= z <= IZR (stop p) / S ->
  S * f z - IZR k * (S * z) / W weight_bits <= IZR c.
Proof.
  intros WB. revert c; induction ps as [|q ps IH]; simpl; intros c T; [discriminate|].
  destruct (offset_on weight_bits k ps) as [d|] eqn:D; intros [= <-] p z I Z.
  - rewrite IZR_max. destruct I as [<-|I].
    + apply Rle_trans with (2 := Rmax_l _ _). apply (offset_of_true _ k f q z WB); auto.
    + apply Rle_trans with (2 := Rmax_r _ _).
      apply (IH d (fun r Ir => T r (or_intror Ir)) eq_refl p z I Z).
  - destruct I as [<-|I].
    + apply (offset_of_true _ k f q z WB); auto.
    + destruct ps as [|r ps]; [destruct I|]. simpl in D. destruct offset_on; discriminate.
Qed.

Section Pieces.
Variable f : Z -> Z -> option enclosure.
Variable F : R -> R.
Hypothesis f_true : forall a b e, f a b = Some e -> enclosure_true e F (IZR a / S) (IZR b / S).

Lemma pieces_true n : forall i l u unit a value ps,
  within value (S * F (IZR a / S)) -> pieces f n i l u unit a value = Some ps ->
  (forall p, In p ps -> piece_true F p) /\
  (forall z, IZR a / S <= z <= IZR (Z.shiftl u unit) / S ->
   exists p, In p ps /\ IZR (start p) / S <= z <= IZR (stop p) / S).
Proof.
  induction n as [|n IH]; intros i l u unit a value ps V; cbn [pieces].
  - destruct (f (Z.shiftl u unit) (Z.shiftl u unit)) as [v|] eqn:E1; [|discriminate].
    destruct (f a (Z.shiftl u unit)) as [e|] eqn:E2; [|discriminate]. intros [= <-]. split.
    + intros p [<-|[]]. split; [apply f_true, E2|split; [exact V|]].
      apply f_true in E1. apply E1. cbn [stop]. lra.
    + intros z Z. eexists. split; [left; reflexivity|exact Z].
  - set (e := (l + i * (u - l) / 32)%Z). set (b := Z.shiftl e unit). clearbody b.
    destruct (f b b) as [v|] eqn:E1; [|discriminate].
    destruct (f a b) as [w|] eqn:E2; [|discriminate].
    destruct (pieces f n _ _ _ _ _ _) as [qs|] eqn:P; [|discriminate]. intros [= <-].
    assert (VB : within (span v) (S * F (IZR b / S))).
    { apply f_true in E1. apply E1. lra. }
    destruct (IH _ _ _ _ _ _ _ VB P) as [T C]. split.
    + intros p [<-|I]; [|auto]. split; [apply f_true, E2|split; [exact V|exact VB]].
    + intros z Z. destruct (Rle_dec z (IZR b / S)) as [L|L].
      * eexists. split; [left; reflexivity|]. cbn [start stop]. lra.
      * destruct (C z) as [p [I H]]; [lra|]. exists p. split; [right; exact I|exact H].
Qed.

Lemma all_pieces_true l u unit ps : all_pieces f l u unit = Some ps ->
  (forall p, In p ps -> piece_true F p) /\
  (forall z, IZR (Z.shiftl l unit) / S <= z <= IZR (Z.shiftl u unit) / S ->
   exists p, In p ps /\ IZR (start p) / S <= z <= IZR (stop p) / S).
Proof.
  unfold all_pieces. set (a := Z.shiftl l unit).
  destruct (f a a) as [v|] eqn:E; [|discriminate].
  apply pieces_true. apply f_true in E. apply E. lra.
Qed.
End Pieces.

Lemma enclosed_true weight_bits value_bits t p l u low high what z :
  (0 <= weight_bits)%Z -> (0 <= value_bits)%Z ->
  enclosed weight_bits value_bits t p l u = Some (low, high, what) -> IZR l <= z <= IZR u ->
  let y := V value_bits * program_value p (z / V value_bits) in
  IZR low <= y <= IZR high /\
  match what with
  | Lines k c k' c' => IZR k * z + IZR c <= W weight_bits * y <= IZR k' * z + IZR c'
  | Rest _ _ => False
  | Plain => True
  end.
Proof.
  intros WN VN. unfold enclosed.
  destruct (Z.leb_spec weight_bits bits) as [WB|]; [|discriminate].
  destruct (Z.leb_spec value_bits bits) as [VB|]; [|discriminate]. cbn [andb].
  set (unit := (bits - value_bits)%Z).
  destruct (all_pieces (program_on p) l u unit) as [ps|] eqn:P; [|discriminate].
  apply (all_pieces_true _ (program_value p) (program_on_true p)) in P. destruct P as [T C].
  set (k := slope_above _ _ ps). set (k' := slope_above _ _ _).
  destruct (offset_on _ 0 ps) as [most|] eqn:O1; [|discriminate].
  destruct (offset_on _ 0 (map mirrored ps)) as [least|] eqn:O2; [|discriminate].
  destruct (offset_on _ k ps) as [c|] eqn:O3; [|discriminate].
  destruct (offset_on _ k' (map mirrored ps)) as [c'|] eqn:O4; [|discriminate].
  clearbody k k'. intros [= <- <- <-] Z. cbv zeta.
  pose proof S_positive as SP. pose proof (V_positive value_bits VN) as VP.
  pose proof (W_positive weight_bits WN) as WP.
  set (v := V value_bits) in *. set (w := W weight_bits) in *. set (x := z / v).
  assert (UN : (0 <= unit)%Z) by (unfold unit; lia).
  pose proof (power_positive unit UN) as UP. set (un := IZR (2 ^ unit)) in *.
  assert (SV : S = un * v).
  { unfold un, v, V, S. rewrite <- mult_IZR, <- Z.pow_add_r by lia. f_equal. f_equal.
    unfold unit. lia. }
  assert (SX : S * x = un * z).
  { unfold x. rewrite SV. field. apply Rgt_not_eq; exact VP. }
  destruct (C x) as [q [I Q]].
  { rewrite !shiftl_true by exact UN. fold un. rewrite SV.
    assert (H : forall n, un * n / (un * v) = n / v).
    { intros n. field. split; apply Rgt_not_eq; assumption. }
    rewrite !H. unfold x. split; apply Rmult_le_compat_r; try apply Z;
      left; apply Rinv_0_lt_compat; exact VP. }
  set (y := program_value p x).
  assert (M : forall r, In r (map mirrored ps) -> piece_true (fun z => - program_value p z) r).
  { intros r R. apply in_map_iff in R. destruct R as [r' [<- R]]. apply mirrored_true, T, R. }
  pose proof (in_map mirrored _ _ I) as I'.
  assert (WB' : (0 <= weight_bits <= bits)%Z) by lia.
  pose proof (offset_on_true _ _ _ _ _ WB' T O1 q x I Q) as H1.
  pose proof (offset_on_true _ _ _ _ _ WB' M O2 (mirrored q) x I' Q) as H2.
  pose proof (offset_on_true _ _ _ _ _ WB' T O3 q x I Q) as H3.
  pose proof (offset_on_true _ _ _ _ _ WB' M O4 (mirrored q) x I' Q) as H4.
  cbv beta in H2, H4. fold y in H1, H2, H3, H4. fold w in H1, H2, H3, H4.
  assert (SY : S * y = un * (v * y)) by (rewrite SV; ring).
  rewrite SX in H1, H2, H3, H4.
  assert (R1 : v * y <= IZR (- Z.shiftr (- most) unit)).
  { apply shiftr_above; [exact UN|]. fold un. unfold Rdiv in H1. lra. }
  assert (R2 : - (v * y) <= IZR (- Z.shiftr (- least) unit)).
  { apply shiftr_above; [exact UN|]. fold un. unfold Rdiv in H2. lra. }
  assert (LN : forall n g h, S * g - IZR n * (un * z) / w <= IZR h ->
    w * (v * g) <= IZR n * z + IZR (- Z.shiftr (- Z.shiftl h weight_bits) unit)).
  { intros n g h H.
    assert (R : w * (v * g) - IZR n * z <=
      IZR (- Z.shiftr (- Z.shiftl h weight_bits) unit)); [|lra].
    apply shiftr_above; [exact UN|]. fold un. rewrite shiftl_true by exact WN.
    change (IZR (2 ^ weight_bits)) with w.
    apply (Rmult_le_compat_l w) in H; [|lra]. apply Rle_trans with (2 := H). right.
    rewrite SV. field. apply Rgt_not_eq; exact WP. }
  split; [split; [rewrite opp_IZR; lra|exact R1]|].
  split.
  - pose proof (LN k' (- y) c' H4) as R. rewrite !opp_IZR in *. lra.
  - apply (LN k y c H3).
Qed.
