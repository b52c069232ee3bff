(* Bounds of sums of elements, by integers: values in units of 2^-T, weights of 2^-P, coefficients
   of 2^-F. A *point* gives each element its value, in units of 2^-T. What is proven: what the
   checker knows of a part holds at all points of the part, and stays so when it is derived anew.

   Let V = 2^T, and W = 2^P. A state (st, c) of a sum that goes backwards stands for
   total st / W + c. *)

From Coq Require Import Reals ZArith NArith List Lra Lia Psatz Bool.
Require Import Network Certificate Table.
Import ListNotations.
Local Open Scope Z_scope.

(* What else is known of an element e: nothing; bounds, in 2^-(P+T), of what the integer weights of
   an affine sum leave out; or two lines between which a function lies, in 2^-P and 2^-(P+T). *)
Inductive more :=
  | Plain
  | Rest (low high : Z)
  | Lines (slope_below offset_below slope_above offset_above : Z).
Inductive known :=
  | Unknown
  | Known (low high : Z) (what : more).
Definition facts := table known.

(* A row as the checker holds it. Ramps, curves and pairs hold the number of their relaxation. *)
Inductive rule :=
  | Input
  | Sum (ts : sparse) (exact : bool) (bias_low bias_high : Z) (how : use)
  | Ramp (n z : N)
  | Curve (n : N) (p : program) (z : N)
  | Pair (n x y : N).
Definition entry := (N * rule)%type.

(* Numbers of relaxations, descending, with a choice of each. *)
Definition choices := list (N * Z).
Fixpoint from (n : N) (l : choices) : choices :=
  match l with
  | (m, _) :: rest => if N.ltb n m then from n rest else l
  | [] => []
  end.
Definition chosen (n : N) (l : choices) : option Z :=
  match l with
  | (m, x) :: _ => if N.eqb m n then Some x else None
  | [] => None
  end.

(* The points that the checker looks at. `rows_of` are the rows, the last first, without elements
   that are 0 at all of them. *)
Record part := { known_of : facts; is_empty : bool; rows_of : list entry }.

Section Bounds.

Variables weight_bits value_bits coefficient_bits : Z.

(* The coefficient of z in a bound of a max(z, 0) for z in [l, u]. Any is sound. *)
Definition kept (a l u : Z) (slope : option Z) : Z :=
  if 0 <=? l then a
  else if u <=? 0 then 0
  else if a <? 0 then (a * u) / (u - l)
  else match slope with
  | Some s => Z.shiftr (a * s) 7
  | None => if u - l <? 64 * (l + u) then a else 0
  end.

(* The least of a max(z, 0) - b z for z in [l, u]. *)
Definition ramp_least (a b l u : Z) : Z :=
  let ends := Z.min (a * Z.max l 0 - b * l) (a * Z.max u 0 - b * u) in
  if (l <? 0) && (0 <? u) then Z.min ends 0 else ends.

(* A bound below of a x y / V - b x - c y on a box: the least of its corners. *)
Definition pair_least (a b c xl xu yl yu : Z) : Z :=
  let corner x y := Z.shiftr (a * (x * y)) value_bits - b * x - c * y in
  Z.min (Z.min (corner xl yl) (corner xl yu)) (Z.min (corner xu yl) (corner xu yu)).

(* What a coefficient A loses when it is rounded down to a W. *)
Definition left_out (A a l : Z) : Z := if Z.shiftl a weight_bits =? A then 0 else Z.min 0 l.

Definition push_some (i : N) (a : Z) (st : sums) : sums := if a =? 0 then st else push i a st.

(* Bounds a function's values for arguments in [l, u], and its lines there, with slopes that place t
   of 128 has. *)
Variable enclosed : Z -> program -> Z -> Z -> option (Z * Z * more).

(* The lines of a function: those that are known, or those of a place that is chosen. *)
Definition lines_of (t : facts) (f : program) (z : N) (what : more) (slope : option Z) : more :=
  match slope, get z t with
  | Some place, Some (Known l u _) =>
    match enclosed place f l u with Some (_, _, chosen) => chosen | None => what end
  | _, _ => what
  end.

(* One element with coefficient a, of which [l, u] and `what` are known, goes backwards. *)
Definition step_back (t : facts) (r : rule) (a l u : Z) (what : more) (slope : option Z) (m : Z)
    (st : sums) : option (sums * Z) :=
  match r with
  | Input => Some (st, Z.min (a * l) (a * u))
  | Sum ts _ _ _ _ =>
    match what with
    | Rest low high =>
      Some (push_scaled a ts st, Z.shiftr (a * (if 0 <=? a then low else high)) weight_bits)
    | _ => None
    end
  | Ramp _ z =>
    match get z t with
    | Some (Known zl zu _) =>
      let b := kept a zl zu slope - m in
      Some (push_some z (Z.shiftl b weight_bits) st, ramp_least a b zl zu)
    | _ => None
    end
  | Curve _ f z =>
    match lines_of t f z what slope with
    | Lines k c k' c' =>
      if 0 <=? a then Some (push_some z (a * k) st, Z.shiftr (a * c) weight_bits)
      else Some (push_some z (a * k') st, Z.shiftr (a * c') weight_bits)
    | _ => Some (st, Z.min (a * l) (a * u))
    end
  | Pair _ x y =>
    match get x t, get y t with
    | Some (Known xl xu _), Some (Known yl yu _) =>
      let s := match slope with Some s => s | None => 64 end in
      let along low high := Z.shiftr (s * (high - low)) 7 in
      let p := xl + along xl xu in
      let q := if 0 <=? a then yl + along yl yu else yu - along yl yu in
      let b := Z.shiftr (a * q) value_bits in
      let c := Z.shiftr (a * p) value_bits in
      Some (push_some x (Z.shiftl b weight_bits) (push_some y (Z.shiftl c weight_bits) st),
            pair_least a b c xl xu yl yu)
    | _, _ => None
    end
  end.

Definition relaxation (r : rule) : option N :=
  match r with
  | Ramp n _ | Curve n _ _ | Pair n _ _ => Some n
  | _ => None
  end.

Definition advanced (r : rule) (l : choices) : choices :=
  match l, relaxation r with
  | [], _ => []
  | _, Some n => from n l
  | _, None => l
  end.
Definition chosen_for (r : rule) (l : choices) : option Z :=
  match l, relaxation r with
  | [], _ => None
  | _, Some n => chosen n l
  | _, None => None
  end.

(* Carries a sum back through the rows, the last first, to a bound below of it. *)
Fixpoint walk (t : facts) (rs : list entry) (slopes weights : choices) (st : sums) (c : Z)
    : option Z :=
  match rs with
  | [] => match st with [] => Some c | _ => None end
  | (e, r) :: rest =>
    let (A, st) := take e st in
    let weights := advanced r weights in
    let m := match chosen_for r weights with Some m => m | None => 0 end in
    if (A =? 0) && (m =? 0) then walk t rest slopes weights st c
    else
      match get e t with
      | Some (Known l u what) =>
        let slopes := advanced r slopes in
        let a := Z.shiftr A weight_bits in
        match step_back t r a l u what (chosen_for r slopes) m st with
        | Some (st', c') => walk t rest slopes weights st' (c + left_out A a l + c')
        | None => None
        end
      | _ => None
      end
  end.

(* Adds that an element lies in [l, u]. *)
Definition meet (e : N) (l u : Z) (what : more) (p : part) : part :=
  match get e (known_of p) with
  | Some (Known l0 u0 _) =>
    let l' := Z.max l l0 in
    let u' := Z.min u u0 in
    {| known_of := set e (Known l' u' what) (known_of p); is_empty := is_empty p || (u' <? l');
       rows_of := rows_of p |}
  | Some Unknown =>
    {| known_of := set e (Known l u what) (known_of p); is_empty := is_empty p || (u <? l);
       rows_of := rows_of p |}
  | None => p
  end.
Definition above (e : N) (l : Z) (p : part) : part :=
  match get e (known_of p) with
  | Some (Known _ u what) => meet e l u what p
  | _ => p
  end.
Definition below (e : N) (u : Z) (p : part) : part :=
  match get e (known_of p) with
  | Some (Known l _ what) => meet e l u what p
  | _ => p
  end.

(* Bounds of a sum by those of its elements, and of the part that is between weights. *)
Fixpoint interval (t : facts) (ts : sparse) (low high least most : Z) : option (Z * Z * Z * Z) :=
  match ts with
  | End => Some (low, high, least, most)
  | Term i w rest =>
    match get i t with
    | Some (Known l u _) =>
      let least := least + Z.min 0 l in
      let most := most + Z.max 0 u in
      if 0 <=? w then interval t rest (low + w * l) (high + w * u) least most
      else interval t rest (low + w * u) (high + w * l) least most
    | _ => None
    end
  end.

Definition wanted (how : use) (l u : Z) : bool :=
  match how with
  | Unused => false
  | BySign => (l <? 0) && (0 <? u)
  | ByValue => l <? u
  end.

(* Bounds an element backwards, from below (sign 1) or above (sign -1). *)
Definition tightened (sign : Z) (e : N) (how : use) (done : list entry) (p : part) : part :=
  match get e (known_of p) with
  | Some (Known l u what) =>
    if wanted how l u then
      let start := push e (Z.shiftl sign (coefficient_bits + weight_bits)) [] in
      match walk (known_of p) done [] [] start 0 with
      | Some c =>
        let b := Z.shiftr c coefficient_bits in
        if 0 <? sign then above e b p else below e (- b) p
      | None => p
      end
    else p
  | _ => p
  end.

Definition derived_entry (en : entry) (done : list entry) (p : part) : part :=
  let t := known_of p in
  match snd en with
  | Input => p
  | Sum ts exact low high how =>
    match interval t ts 0 0 0 0 with
    | Some (l, u, least, most) =>
      let least := if exact then low else least + low in
      let most := if exact then high else most + high in
      let p := meet (fst en) (Z.shiftr (l + least) weight_bits)
                 (- Z.shiftr (- (u + most)) weight_bits) (Rest least most) p in
      tightened (-1) (fst en) how done (tightened 1 (fst en) how done p)
    | None => p
    end
  | Ramp _ z =>
    match get z t with
    | Some (Known l u _) => meet (fst en) (Z.max l 0) (Z.max u 0) Plain p
    | _ => p
    end
  | Curve _ f z =>
    match get z t with
    | Some (Known l u _) =>
      match enclosed 64 f l u with
      | Some (low, high, what) => meet (fst en) low high what p
      | None => p
      end
    | _ => p
    end
  | Pair _ x y =>
    match get x t, get y t with
    | Some (Known xl xu _), Some (Known yl yu _) =>
      let low := Z.min (Z.min (xl * yl) (xl * yu)) (Z.min (xu * yl) (xu * yu)) in
      let high := Z.max (Z.max (xl * yl) (xl * yu)) (Z.max (xu * yl) (xu * yu)) in
      meet (fst en) (Z.shiftr low value_bits) (- Z.shiftr (- high) value_bits) Plain p
    | _, _ => p
    end
  end.

Fixpoint without_zeros (t : facts) (ts : sparse) : sparse :=
  match ts with
  | End => End
  | Term i w rest =>
    let rest := without_zeros t rest in
    match get i t with
    | Some (Known l u _) => if (l =? 0) && (u =? 0) then rest else Term i w rest
    | _ => Term i w rest
    end
  end.
Definition pruned (t : facts) (en : entry) : entry :=
  match en with
  | (e, Sum ts exact low high how) => (e, Sum (without_zeros t ts) exact low high how)
  | _ => en
  end.

(* The rows in their order; `done` are those before, the last first. *)
Fixpoint derived (rs done : list entry) (p : part) : part :=
  match rs with
  | [] => {| known_of := known_of p; is_empty := is_empty p; rows_of := done |}
  | en :: rest =>
    if is_empty p then p
    else
      let done := pruned (known_of p) en :: done in
      derived rest done (derived_entry (pruned (known_of p) en) done p)
  end.

(* What is proven of it. *)
Section Proofs.

Hypothesis weight_bits_natural : 0 <= weight_bits.
Hypothesis value_bits_natural : 0 <= value_bits.
Hypothesis coefficient_bits_natural : 0 <= coefficient_bits.
Local Open Scope R_scope.

Definition V : R := IZR (2 ^ value_bits).
Definition W : R := IZR (2 ^ weight_bits).

(* X: the elements' values. Y: what the weights of a sum leave out; the argument of a function. *)
Variables X Y : N -> R.

Fixpoint lows (ts : sparse) : R :=
  match ts with End => 0 | Term i _ rest => Rmin 0 (X i) + lows rest end.
Fixpoint highs (ts : sparse) : R :=
  match ts with End => 0 | Term i _ rest => Rmax 0 (X i) + highs rest end.

Definition true_of (en : entry) : Prop :=
  let e := fst en in
  match snd en with
  | Input => True
  | Sum ts exact low high _ =>
    W * X e = value ts X + Y e /\
    exists d b, Y e = d + b /\ IZR low <= b <= IZR high /\
    if exact then d = 0 else lows ts <= d <= highs ts
  | Ramp _ z => X e = Rmax (X z) 0
  | Curve _ p z =>
    Y e = X z /\ X e = V * program_value p (X z / V)
  | Pair _ x y => X e * V = X x * X y
  end.

Definition more_true (e : N) (what : more) : Prop :=
  match what with
  | Plain => True
  | Rest low high => IZR low <= Y e <= IZR high
  | Lines k c k' c' => IZR k * Y e + IZR c <= W * X e <= IZR k' * Y e + IZR c'
  end.
Definition facts_true (t : facts) : Prop :=
  forall e l u what, get e t = Some (Known l u what) ->
  IZR l <= X e <= IZR u /\ more_true e what.
Definition in_part (p : part) : Prop :=
  facts_true (known_of p) /\ is_empty p = false /\ forall en, In en (rows_of p) -> true_of en.

Hypothesis enclosed_true : forall place p l u low high what z,
  enclosed place p l u = Some (low, high, what) -> IZR l <= z <= IZR u ->
  let y := V * program_value p (z / V) in
  IZR low <= y <= IZR high /\
  match what with
  | Lines k c k' c' => IZR k * z + IZR c <= W * y <= IZR k' * z + IZR c'
  | Rest _ _ => False
  | Plain => True
  end.

Lemma power_positive k : (0 <= k)%Z -> 0 < IZR (2 ^ k).
Proof. intros H. apply IZR_lt. apply Z.pow_pos_nonneg; lia. Qed.

Lemma W_positive : 0 < W.
Proof. apply power_positive; assumption. Qed.
Lemma V_positive : 0 < V.
Proof. apply power_positive; assumption. Qed.

Lemma shiftr_true a k : (0 <= k)%Z ->
  IZR (2 ^ k) * IZR (Z.shiftr a k) <= IZR a < IZR (2 ^ k) * (IZR (Z.shiftr a k) + 1).
Proof.
  intros H. rewrite Z.shiftr_div_pow2 by assumption.
  assert (P : (0 < 2 ^ k)%Z) by (apply Z.pow_pos_nonneg; lia).
  rewrite <- plus_IZR, <- !mult_IZR. split.
  - apply IZR_le. apply Z.mul_div_le; assumption.
  - apply IZR_lt. pose proof (Z.mul_succ_div_gt a (2 ^ k) P). lia.
Qed.

Lemma shiftl_true a k : (0 <= k)%Z -> IZR (Z.shiftl a k) = IZR (2 ^ k) * IZR a.
Proof. intros H. rewrite Z.shiftl_mul_pow2 by assumption. rewrite mult_IZR. lra. Qed.

Lemma IZR_min a b : IZR (Z.min a b) = Rmin (IZR a) (IZR b).
Proof.
  unfold Rmin. destruct (Rle_dec (IZR a) (IZR b)) as [H|H].
  - apply le_IZR in H. f_equal. lia.
  - f_equal. apply Z.min_r. apply le_IZR. lra.
Qed.
Lemma IZR_max a b : IZR (Z.max a b) = Rmax (IZR a) (IZR b).
Proof.
  unfold Rmax. destruct (Rle_dec (IZR a) (IZR b)) as [H|H].
  - apply le_IZR in H. f_equal. lia.
  - f_equal. apply Z.max_l. apply le_IZR. lra.
Qed.

(* What is linear on [l, u] is least at an end. *)
Lemma linear_least k c l u x : l <= x <= u -> Rmin (k * l + c) (k * u + c) <= k * x + c.
Proof.
  intros H. destruct (Rle_dec 0 k) as [K|K].
  - apply Rle_trans with (k * l + c); [apply Rmin_l|nra].
  - apply Rle_trans with (k * u + c); [apply Rmin_r|nra].
Qed.

Lemma ramp_least_true a b l u z : IZR l <= z <= IZR u ->
  IZR (ramp_least a b l u) + IZR b * z <= IZR a * Rmax z 0.
Proof.
  intros H. unfold ramp_least.
  assert (E : IZR (Z.min (a * Z.max l 0 - b * l) (a * Z.max u 0 - b * u)) =
    Rmin (IZR a * Rmax (IZR l) 0 - IZR b * IZR l) (IZR a * Rmax (IZR u) 0 - IZR b * IZR u)).
  { rewrite IZR_min, !minus_IZR, !mult_IZR, !IZR_max. reflexivity. }
  destruct (Z.ltb_spec l 0) as [L|L]; simpl.
  - destruct (Z.ltb_spec 0 u) as [U|U].
    + rewrite IZR_min, E. apply IZR_lt in L. apply IZR_lt in U.
      rewrite (Rmax_right (IZR l)), (Rmax_left (IZR u)) by lra.
      destruct (Rle_dec z 0) as [Z|Z].
      * rewrite Rmax_right by lra.
        pose proof (linear_least (- IZR b) 0 (IZR l) 0 z ltac:(lra)) as Q.
        revert Q. unfold Rmin. repeat destruct Rle_dec; lra.
      * rewrite Rmax_left by lra.
        pose proof (linear_least (IZR a - IZR b) 0 0 (IZR u) z ltac:(lra)) as Q.
        revert Q. unfold Rmin. repeat destruct Rle_dec; lra.
    + rewrite E. apply IZR_lt in L. apply IZR_le in U.
      rewrite !Rmax_right by lra.
      pose proof (linear_least (- IZR b) 0 (IZR l) (IZR u) z ltac:(lra)) as Q.
      revert Q. unfold Rmin. repeat destruct Rle_dec; lra.
  - rewrite E. apply IZR_le in L.
    rewrite !Rmax_left by lra.
    pose proof (linear_least (IZR a - IZR b) 0 (IZR l) (IZR u) z ltac:(lra)) as Q.
    revert Q. unfold Rmin. repeat destruct Rle_dec; lra.
Qed.

Lemma pair_least_true a b c xl xu yl yu x y : IZR xl <= x <= IZR xu -> IZR yl <= y <= IZR yu ->
  IZR (pair_least a b c xl xu yl yu) + IZR b * x + IZR c * y <= IZR a * (x * y / V).
Proof.
  intros Hx Hy. unfold pair_least.
  pose proof V_positive as VP.
  assert (C : forall p q, IZR (Z.shiftr (a * (p * q)) value_bits - b * p - c * q) <=
    IZR a * (IZR p * IZR q / V) - IZR b * IZR p - IZR c * IZR q).
  { intros p q. rewrite !minus_IZR, !mult_IZR.
    destruct (shiftr_true (a * (p * q)) value_bits value_bits_natural) as [S _].
    rewrite !mult_IZR in S. fold V in S.
    apply (Rmult_le_compat_l (/ V)) in S; [|left; apply Rinv_0_lt_compat; assumption].
    rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l in S by lra.
    unfold Rdiv. nra. }
  rewrite !IZR_min.
  pose proof (C xl yl) as C1. pose proof (C xl yu) as C2.
  pose proof (C xu yl) as C3. pose proof (C xu yu) as C4. clear C.
  pose proof (linear_least (IZR a * (y / V) - IZR b) (- IZR c * y) _ _ x Hx) as Q.
  pose proof (linear_least (IZR a * (IZR xl / V) - IZR c) (- IZR b * IZR xl) _ _ y Hy) as Q1.
  pose proof (linear_least (IZR a * (IZR xu / V) - IZR c) (- IZR b * IZR xu) _ _ y Hy) as Q2.
  unfold Rdiv in *.
  revert Q Q1 Q2. unfold Rmin. repeat destruct Rle_dec; intros; lra.
Qed.

(* A bound of a x by the ends. *)
Lemma ends_least a l u x : IZR l <= x <= IZR u -> IZR (Z.min (a * l) (a * u)) <= IZR a * x.
Proof.
  intros H. rewrite IZR_min, !mult_IZR.
  pose proof (linear_least (IZR a) 0 _ _ x H) as Q. rewrite !Rplus_0_r in Q. exact Q.
Qed.

Lemma total_push_some i a st : total (push_some i a st) X = IZR a * X i + total st X.
Proof.
  unfold push_some. destruct (Z.eqb_spec a 0) as [->|_]; [lra|apply total_push].
Qed.

Lemma step_back_true t e r a l u what slope m st st' c' :
  facts_true t -> true_of (e, r) -> IZR l <= X e <= IZR u -> more_true e what ->
  step_back t r a l u what slope m st = Some (st', c') ->
  total st' X + W * IZR c' <= total st X + W * (IZR a * X e).
Proof.
  intros T E B M. pose proof W_positive as WP.
  destruct r as [|ts exact low high how|n z|n p z|n x y]; simpl.
  - intros [= <- <-]. pose proof (ends_least a l u (X e) B). nra.
  - destruct what as [|rl rh|]; try discriminate. intros [= <- <-].
    rewrite total_push_scaled.
    destruct E as [E _]. simpl in E, M.
    replace (W * (IZR a * X e)) with (IZR a * (W * X e)) by ring. rewrite E.
    destruct (shiftr_true (a * (if (0 <=? a)%Z then rl else rh)) weight_bits weight_bits_natural)
      as [S _]. fold W in S. rewrite mult_IZR in S.
    apply Rplus_le_reg_l with (- (IZR a * value ts X) - total st X). ring_simplify.
    apply Rle_trans with (1 := S).
    destruct (Z.leb_spec 0 a) as [A|A].
    + apply IZR_le in A. nra.
    + apply IZR_lt in A. nra.
  - destruct (get z t) as [[|zl zu w]|] eqn:G; try discriminate.
    intros [= <- <-]. rewrite total_push_some, shiftl_true by assumption. fold W.
    destruct (T _ _ _ _ G) as [Z _]. simpl in E. rewrite E.
    pose proof (ramp_least_true a (kept a zl zu slope - m) zl zu (X z) Z). nra.
  - assert (K : forall k c, Some (push_some z (a * k) st, Z.shiftr (a * c) weight_bits) =
      Some (st', c') -> IZR a * (IZR k * Y e + IZR c) <= IZR a * (W * X e) ->
      total st' X + W * IZR c' <= total st X + W * (IZR a * X e)).
    { intros k c [= <- <-] H. rewrite total_push_some, mult_IZR.
      destruct (shiftr_true (a * c) weight_bits weight_bits_natural) as [S _].
      fold W in S. rewrite mult_IZR in S. destruct E as [E _]. simpl in E. rewrite <- E. nra. }
    assert (M' : more_true e (lines_of t p z what slope)).
    { unfold lines_of. destruct slope as [place|]; [|exact M].
      destruct (get z t) as [[|zl zu w]|] eqn:G; try exact M.
      destruct (enclosed place p zl zu) as [[[low high] chosen]|] eqn:C; [|exact M].
      destruct (T _ _ _ _ G) as [Bz _].
      destruct (enclosed_true _ _ _ _ _ _ _ _ C Bz) as [_ Q]. destruct E as [Ez Ev].
      cbn [fst] in *. destruct chosen; simpl; [exact I|contradiction|]. rewrite Ez, Ev. exact Q. }
    clear M. destruct (lines_of t p z what slope) as [|rl rh|k c k' c0].
    + intros [= <- <-]. pose proof (ends_least a l u (X e) B). nra.
    + intros [= <- <-]. pose proof (ends_least a l u (X e) B). nra.
    + simpl in M'. destruct (Z.leb_spec 0 a) as [A|A]; intros H; apply (K _ _ H).
      * apply IZR_le in A. nra.
      * apply IZR_lt in A. nra.
  - destruct (get x t) as [[|xl xu w]|] eqn:Gx; try discriminate.
    destruct (get y t) as [[|yl yu w']|] eqn:Gy; try discriminate.
    intros [= <- <-]. rewrite !total_push_some, !shiftl_true by assumption. fold W.
    destruct (T _ _ _ _ Gx) as [Hx _]. destruct (T _ _ _ _ Gy) as [Hy _].
    pose proof V_positive as VP.
    assert (E' : X e = X x * X y / V).
    { cbn in E. rewrite <- E. field. apply Rgt_not_eq. exact VP. }
    rewrite E'.
    set (b := Z.shiftr _ _). set (c := Z.shiftr _ _).
    pose proof (pair_least_true a b c xl xu yl yu (X x) (X y) Hx Hy). nra.
Qed.

Lemma left_out_true A l x : IZR l <= x ->
  W * IZR (left_out A (Z.shiftr A weight_bits) l) + W * (IZR (Z.shiftr A weight_bits) * x) <=
  IZR A * x.
Proof.
  intros H. unfold left_out. pose proof W_positive as WP.
  destruct (shiftr_true A weight_bits weight_bits_natural) as [S1 S2]. fold W in S1, S2.
  destruct (Z.eqb_spec (Z.shiftl (Z.shiftr A weight_bits) weight_bits) A) as [E|_].
  - apply (f_equal IZR) in E. rewrite shiftl_true in E by assumption. fold W in E. nra.
  - rewrite IZR_min. unfold Rmin. destruct (Rle_dec 0 (IZR l)); nra.
Qed.

Lemma walk_true t rs slopes weights st c result :
  facts_true t -> (forall en, In en rs -> true_of en) ->
  walk t rs slopes weights st c = Some result ->
  W * IZR result <= total st X + W * IZR c.
Proof.
  intros T. revert slopes weights st c.
  induction rs as [|[e r] rs IH]; intros slopes weights st c E; simpl.
  - destruct st; [|discriminate]. intros [= ->]. simpl. lra.
  - destruct (take e st) as [A st1] eqn:P. rewrite (total_take _ _ X _ _ P).
    assert (E' : forall en, In en rs -> true_of en) by (intros; apply E; right; assumption).
    set (m := match _ with Some m => m | None => 0%Z end).
    destruct (Z.eqb_spec A 0) as [->|NA]; [destruct (Z.eqb m 0)|]; simpl.
    { intros H. apply IH in H; [|exact E']. lra. }
    all: destruct (get e t) as [[|l u what]|] eqn:G; try discriminate.
    all: destruct (T _ _ _ _ G) as [B M].
    all: destruct step_back as [[st2 c2]|] eqn:S; try discriminate; intros H.
    all: apply IH in H; [|exact E'].
    all: apply (step_back_true t e r _ l u what _ _ st1 st2 c2 T) in S;
         [|apply E; left; reflexivity|assumption|assumption].
    + pose proof (left_out_true 0 l (X e) ltac:(lra)) as L.
      rewrite !plus_IZR in H. rewrite Z.shiftr_0_l in *. lra.
    + pose proof (left_out_true A l (X e) ltac:(lra)) as L.
      rewrite !plus_IZR in H. lra.
Qed.

Lemma meet_true e l u what p :
  in_part p -> IZR l <= X e <= IZR u -> more_true e what -> in_part (meet e l u what p).
Proof.
  intros (F & N & D) B M. unfold meet.
  assert (S : forall l' u', IZR l' <= X e <= IZR u' ->
    in_part {| known_of := set e (Known l' u' what) (known_of p);
               is_empty := is_empty p || (u' <? l')%Z; rows_of := rows_of p |}).
  { intros l' u' H. split; [|split]; simpl; [| |exact D].
    - intros j lj uj wj G. apply get_set in G. destruct G as [[-> [= -> -> ->]]|G]; [auto|].
      apply (F _ _ _ _ G).
    - rewrite N. simpl. apply Z.ltb_ge. apply le_IZR. lra. }
  destruct (get e (known_of p)) as [[|l0 u0 w0]|] eqn:G; [| |split; auto].
  - apply S. assumption.
  - apply S. destruct (F _ _ _ _ G) as [B0 _]. rewrite IZR_min, IZR_max.
    split; [apply Rmax_lub; lra|apply Rmin_glb; lra].
Qed.

Lemma above_true e l p : in_part p -> IZR l <= X e -> in_part (above e l p).
Proof.
  intros H L. unfold above. destruct (get e (known_of p)) as [[|l0 u0 w0]|] eqn:G; auto.
  destruct (proj1 H _ _ _ _ G) as [B M]. apply meet_true; auto. lra.
Qed.
Lemma below_true e u p : in_part p -> X e <= IZR u -> in_part (below e u p).
Proof.
  intros H L. unfold below. destruct (get e (known_of p)) as [[|l0 u0 w0]|] eqn:G; auto.
  destruct (proj1 H _ _ _ _ G) as [B M]. apply meet_true; auto. lra.
Qed.

Lemma interval_true t ts low high least most l u least' most' : facts_true t ->
  interval t ts low high least most = Some (l, u, least', most') ->
  IZR l - IZR low <= value ts X <= IZR u - IZR high /\
  IZR least' - IZR least <= lows ts /\ highs ts <= IZR most' - IZR most.
Proof.
  intros T. revert low high least most.
  induction ts as [|i w ts IH]; intros low high least most; simpl.
  - intros [= <- <- <- <-]. lra.
  - destruct (get i t) as [[|li ui wi]|] eqn:G; try discriminate.
    destruct (T _ _ _ _ G) as [B _].
    assert (Q : IZR (Z.min 0 li) <= Rmin 0 (X i) /\ Rmax 0 (X i) <= IZR (Z.max 0 ui)).
    { rewrite IZR_min, IZR_max. unfold Rmin, Rmax. repeat destruct Rle_dec; lra. }
    destruct (Z.leb_spec 0 w) as [H|H]; intros K; apply IH in K.
    + apply IZR_le in H. rewrite !plus_IZR, !mult_IZR in K. nra.
    + apply IZR_lt in H. rewrite !plus_IZR, !mult_IZR in K. nra.
Qed.

Lemma tightened_true sign e how done p : (sign = 1 \/ sign = -1)%Z ->
  (forall en, In en done -> true_of en) -> in_part p -> in_part (tightened sign e how done p).
Proof.
  intros S D H. unfold tightened.
  destruct (get e (known_of p)) as [[|l u what]|] eqn:G; auto.
  destruct (wanted how l u); auto.
  destruct walk as [c|] eqn:K; auto.
  apply walk_true in K; [|apply H|exact D].
  rewrite total_push, shiftl_true in K by lia. simpl in K.
  destruct (shiftr_true c coefficient_bits coefficient_bits_natural) as [C _].
  pose proof (power_positive coefficient_bits coefficient_bits_natural) as CP.
  pose proof W_positive as WP.
  set (b := Z.shiftr c coefficient_bits) in *.
  assert (Q : IZR b <= IZR sign * X e).
  { rewrite Z.pow_add_r, mult_IZR in K by assumption. fold W in K.
    apply Rmult_le_reg_l with (1 := CP). apply Rle_trans with (1 := C).
    apply Rmult_le_reg_l with (1 := WP). nra. }
  destruct S as [-> | ->]; simpl.
  - apply above_true; auto. lra.
  - apply below_true; auto. rewrite opp_IZR. lra.
Qed.

Lemma shiftr_below a k y : (0 <= k)%Z -> IZR a <= IZR (2 ^ k) * y -> IZR (Z.shiftr a k) <= y.
Proof.
  intros K H. destruct (shiftr_true a k K) as [S _]. pose proof (power_positive k K).
  apply Rmult_le_reg_l with (IZR (2 ^ k)); [assumption|lra].
Qed.
Lemma shiftr_above a k y : (0 <= k)%Z -> IZR (2 ^ k) * y <= IZR a -> y <= IZR (- Z.shiftr (- a) k).
Proof.
  intros K H. rewrite opp_IZR.
  assert (IZR (Z.shiftr (- a) k) <= - y); [|lra].
  apply shiftr_below; auto. rewrite opp_IZR. lra.
Qed.

Lemma derived_entry_true en done p :
  true_of en -> (forall d, In d done -> true_of d) -> in_part p ->
  in_part (derived_entry en done p).
Proof.
  intros E D H. destruct en as [e r]. unfold derived_entry. cbn [fst snd].
  pose proof W_positive as WP.
  destruct r as [|ts exact low high how|n z|n f z|n x y]; auto.
  - destruct interval as [[[[l u] least] most]|] eqn:I; auto.
    apply interval_true in I; [|apply H].
    destruct E as [E (d & b & YE & B & DE)]. cbn [fst] in *.
    assert (Q : IZR (if exact then low else least + low) <= Y e <=
                IZR (if exact then high else most + high)).
    { destruct exact; rewrite ?plus_IZR; lra. }
    apply tightened_true; [auto|assumption|].
    apply tightened_true; [auto|assumption|].
    apply meet_true; auto.
    set (rl := if exact then low else _) in *. set (rh := if exact then high else _) in *.
    split.
    + apply shiftr_below; auto. fold W. rewrite plus_IZR. lra.
    + apply shiftr_above; auto. fold W. rewrite plus_IZR. lra.
  - destruct (get z (known_of p)) as [[|l u w]|] eqn:G; auto.
    destruct (proj1 H _ _ _ _ G) as [B _]. simpl in E.
    apply meet_true; simpl; auto. rewrite E, !IZR_max.
    unfold Rmax. repeat destruct Rle_dec; lra.
  - destruct (get z (known_of p)) as [[|l u w]|] eqn:G; auto.
    destruct (enclosed 64 f l u) as [[[low high] what]|] eqn:C; auto.
    destruct (proj1 H _ _ _ _ G) as [B _]. destruct E as [Ez Ev]. cbn [fst] in *.
    destruct (enclosed_true _ _ _ _ _ _ _ _ C B) as [Q M].
    apply meet_true; auto.
    + rewrite Ev. exact Q.
    + destruct what; simpl in *; auto; [contradiction|]. rewrite Ez, Ev. exact M.
  - destruct (get x (known_of p)) as [[|xl xu w]|] eqn:Gx; auto.
    destruct (get y (known_of p)) as [[|yl yu w']|] eqn:Gy; auto.
    destruct (proj1 H _ _ _ _ Gx) as [Hx _]. destruct (proj1 H _ _ _ _ Gy) as [Hy _].
    cbn in E. clear WP.
    pose proof (linear_least (X y) 0 _ _ _ Hx) as L0.
    pose proof (linear_least (IZR xl) 0 _ _ _ Hy) as L1.
    pose proof (linear_least (IZR xu) 0 _ _ _ Hy) as L2.
    pose proof (linear_least (- X y) 0 _ _ _ Hx) as U0.
    pose proof (linear_least (- IZR xl) 0 _ _ _ Hy) as U1.
    pose proof (linear_least (- IZR xu) 0 _ _ _ Hy) as U2.
    apply meet_true; simpl; auto. split.
    + apply shiftr_below; auto. fold V. rewrite !IZR_min, !mult_IZR.
      rewrite (Rmult_comm V), E.
      revert L0 L1 L2. clear. unfold Rmin. repeat destruct Rle_dec; lra.
    + apply shiftr_above; auto. fold V. rewrite !IZR_max, !mult_IZR.
      rewrite (Rmult_comm V), E.
      revert U0 U1 U2. clear. unfold Rmin, Rmax. repeat destruct Rle_dec; lra.
Qed.

Lemma pruned_true t en : facts_true t -> true_of en -> true_of (pruned t en).
Proof.
  intros T. destruct en as [e [|ts exact low high how|n z|n f z|n x y]]; auto.
  assert (Z : value (without_zeros t ts) X = value ts X /\
    lows (without_zeros t ts) = lows ts /\ highs (without_zeros t ts) = highs ts).
  { induction ts as [|i w ts (IV & IL & IH)]; simpl; [auto|].
    destruct (get i t) as [[|l u m]|] eqn:G; simpl; rewrite ?IV, ?IL, ?IH; auto.
    destruct (T _ _ _ _ G) as [B _].
    destruct (Z.eqb_spec l 0) as [->|]; simpl; rewrite ?IV, ?IL, ?IH; auto.
    destruct (Z.eqb_spec u 0) as [->|]; simpl; rewrite ?IV, ?IL, ?IH; auto.
    assert (E : X i = 0) by lra. rewrite E. rewrite Rmin_left, Rmax_left by lra.
    repeat split; lra. }
  destruct Z as (V0 & L & H). unfold true_of. cbn [fst snd pruned]. rewrite V0, L, H. auto.
Qed.

Lemma derived_true rs done p :
  (forall en, In en rs -> true_of en) -> (forall en, In en done -> true_of en) ->
  in_part p -> in_part (derived rs done p).
Proof.
  revert done p. induction rs as [|en rs IH]; intros done p R D H; simpl.
  - split; [apply H|split; [apply H|exact D]].
  - destruct (is_empty p) eqn:N; auto.
    assert (E : true_of (pruned (known_of p) en)).
    { apply pruned_true; [apply H|apply R; left; reflexivity]. }
    assert (D' : forall d, In d (pruned (known_of p) en :: done) -> true_of d).
    { intros d [<-|I]; auto. }
    apply IH; auto.
    + intros; apply R; right; assumption.
    + apply derived_entry_true; auto.
Qed.

End Proofs.
End Bounds.

(* A rational times 2^bits, rounded. *)
Definition floor_of (q : rational) (bits : Z) : Z := Z.shiftl (fst q) bits / Zpos (snd q).
Definition ceil_of (q : rational) (bits : Z) : Z := - (Z.shiftl (- fst q) bits / Zpos (snd q)).

Section Rounded.
Local Open Scope R_scope.

Lemma floor_of_true q bits : (0 <= bits)%Z -> IZR (floor_of q bits) <= real q * IZR (2 ^ bits).
Proof.
  intros B. unfold floor_of, real. destruct q as [n d]; simpl.
  assert (D : 0 < IZR (Zpos d)) by (apply IZR_lt; lia).
  apply Rmult_le_reg_l with (1 := D).
  replace (IZR (Zpos d) * (IZR n / IZR (Zpos d) * IZR (2 ^ bits))) with (IZR n * IZR (2 ^ bits))
    by (field; apply Rgt_not_eq; exact D).
  rewrite <- !mult_IZR. apply IZR_le. rewrite <- Z.shiftl_mul_pow2 by assumption.
  apply Z.mul_div_le. lia.
Qed.
Lemma ceil_of_true q bits : (0 <= bits)%Z -> real q * IZR (2 ^ bits) <= IZR (ceil_of q bits).
Proof.
  intros B. pose proof (floor_of_true (- fst q, snd q)%Z bits B) as H.
  unfold ceil_of. rewrite opp_IZR.
  assert (E : real (- fst q, snd q)%Z = - real q).
  { unfold real. cbn [fst snd]. rewrite opp_IZR. unfold Rdiv. ring. }
  rewrite E in H. unfold floor_of in H. cbn [fst snd] in H. lra.
Qed.
End Rounded.
